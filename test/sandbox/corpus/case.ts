import type { JsonValue } from "../../../src/domain/core/json.ts";
import type { SandboxLanguage, SandboxStatus } from "../../../src/domain/tools/sandbox.ts";

/** Code that attacks, and what must come of it. */
export interface Case {
  /** The file's name in the folder of its language, without its ending. */
  readonly name: string;
  readonly language: SandboxLanguage;
  /** What it goes for. */
  readonly attacks: string;
  /** How it may end. */
  readonly ends: readonly SandboxStatus[];
  /** How many single attempts it makes; each says that it was made, so that code which did nothing is no success. */
  readonly tries?: number;
  /** What it must have said on stdout. */
  readonly says?: string;
  /** What its result must be. */
  readonly result?: JsonValue;
  /** What the name of its error, or its text, must have in it. */
  readonly error?: string;
  /** Wall-clock time that it gets, ms. */
  readonly timeoutMs?: number;
  /** Asked of every isolation, not of one alone. */
  readonly sharp?: true;
  /** Takes no interpreter down, so that it can share one with others: Python takes seconds to start. */
  readonly shares?: true;
  /** Tried each time though it needs an interpreter of its own; the others like it are left to `npm run corpus`. */
  readonly always?: true;
  /** Takes seconds and tells little more than others do: left to `npm run corpus`. */
  readonly long?: true;
  /** Kept by bubblewrap's namespaces alone; docs/guides/sandbox.md says what the isolation `process` cannot promise. */
  readonly namespaces?: true;
  /** Attempts that get through when there is no wall. */
  readonly bites?: readonly string[];
}

/** A case of one language, as its table writes it. */
export type Row = Omit<Case, "language">;
