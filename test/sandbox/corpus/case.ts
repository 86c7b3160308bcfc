import type { JsonValue } from "../../../src/domain/core/json.ts";
import type { SandboxLanguage, SandboxStatus } from "../../../src/domain/tools/sandbox.ts";

export interface Case {
  /** File name in the language's folder, without extension. */
  readonly name: string;
  readonly language: SandboxLanguage;
  readonly attacks: string;
  readonly ends: readonly SandboxStatus[];
  /** Number of attempts. Each reports itself, so that code which did nothing fails the test. */
  readonly tries?: number;
  readonly says?: string;
  readonly result?: JsonValue;
  /** Expected in the error's name or text. */
  readonly error?: string;
  readonly timeoutMs?: number;
  /** Attacks a promise of its own: also runs in `npm test`, and under the weaker isolation. */
  readonly sharp?: true;
  /** Leaves the interpreter usable, so it can share one: Python starts slowly. */
  readonly shares?: true;
  /** Always run, although it needs its own interpreter. */
  readonly always?: true;
  /** Prevented only by bubblewrap; docs/guides/sandbox.md lists the limits of isolation `process`. */
  readonly namespaces?: true;
  /** Attempts that succeed without isolation. */
  readonly bites?: readonly string[];
}

export type Row = Omit<Case, "language">;

/** @param how the allowed endings, and what goes with them */
export function row(
  name: string,
  attacks: string,
  how: Pick<Row, "ends"> & Partial<Row>,
  rest: Partial<Row> = {},
): Row {
  return { name, attacks, ...how, ...rest };
}
