import type { CallToolDeps } from "../app/call-tool.ts";
import type { KeyRules } from "../domain/new-key.ts";

/** What a new key is held against: the tools that there are, and the time. */
export function keyRulesOf({ catalogue, clock }: Pick<CallToolDeps, "catalogue" | "clock">): () => KeyRules {
  const tools = catalogue.tools.map(({ name }) => name);
  return () => ({ tools, now: clock.now() });
}
