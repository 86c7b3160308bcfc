import type { SandboxOutcome } from "../../../src/domain/tools/sandbox.ts";
import type { Case } from "./case.ts";
import { preludeOf, snippetOf } from "./cases.ts";

const HEADING = "== ";

/**
 * Returns one program of several Python snippets in separate namespaces, since an interpreter starts
 * slowly.
 */
export async function programOf(
  cases: readonly Case[],
  host: Readonly<Record<string, string>>,
): Promise<string> {
  const parts = await Promise.all(
    cases.map(async (one) => {
      const source = JSON.stringify(await snippetOf(one, host));
      return `print("${HEADING}${one.name}")\nawait eval_code_async(${source}, {**prelude})`;
    }),
  );
  return `${await preludeOf("python")}\nfrom pyodide.code import eval_code_async\nprelude = {"attempt": attempt}\n${parts.join("\n")}\n`;
}

export function shareOf(one: Case, outcome: SandboxOutcome): SandboxOutcome {
  const parts = outcome.stdout.split(new RegExp(`^${HEADING}`, "m"));
  const own = parts.find((part) => part.startsWith(`${one.name}\n`)) ?? "";
  return { ...outcome, stdout: own.slice(one.name.length + 1) };
}
