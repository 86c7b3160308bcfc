import type { JsonValue } from "../../../src/domain/core/json.ts";
import type { SandboxLanguage, SandboxStatus } from "../../../src/domain/tools/sandbox.ts";

/** Attacking code and its expected outcome. */
export interface Case {
  /** File name in the language's folder, without extension. */
  readonly name: string;
  readonly language: SandboxLanguage;
  /** Target of the attack. */
  readonly attacks: string;
  /** Allowed endings. */
  readonly ends: readonly SandboxStatus[];
  /** Number of attempts. Each reports itself, so that code which did nothing fails the test. */
  readonly tries?: number;
  /** Expected in stdout. */
  readonly says?: string;
  /** Expected result. */
  readonly result?: JsonValue;
  /** Expected in the error's name or text. */
  readonly error?: string;
  /** Time limit, ms. */
  readonly timeoutMs?: number;
  /** Run under every isolation. */
  readonly sharp?: true;
  /** Leaves the interpreter usable, so it can share one: Python starts slowly. */
  readonly shares?: true;
  /** Always run, although it needs its own interpreter. */
  readonly always?: true;
  /** Slow and redundant; only in `npm run corpus`. */
  readonly long?: true;
  /** Prevented only by bubblewrap; docs/guides/sandbox.md lists the limits of isolation `process`. */
  readonly namespaces?: true;
  /** Attempts that succeed without isolation. */
  readonly bites?: readonly string[];
}

/** A case as its language's table writes it. */
export type Row = Omit<Case, "language">;
