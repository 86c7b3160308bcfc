import type { CallToolDeps } from "../app/calls/call-tool.ts";
import type { KeyRules } from "../domain/accounts/new-key.ts";

/** Returns the rules for new keys: existing tools and the current time. */
export function keyRulesOf({ catalogue, clock }: Pick<CallToolDeps, "catalogue" | "clock">): () => KeyRules {
  return () => ({ tools: catalogue.tools.map(({ name }) => name), now: clock.now() });
}
