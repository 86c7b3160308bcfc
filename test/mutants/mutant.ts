/** A guard and the change that disables it. */
export interface Mutant extends Tests {
  /** Unique, kebab-case. */
  readonly name: string;
  /** The guarantee, in one sentence. */
  readonly guard: string;
  /** Source file, relative to the checkout. */
  readonly file: string;
  /** Text that occurs once in the file. */
  readonly find: string;
  /** Replacement: a working program without the guard. */
  readonly replace: string;
}

/** Tests of which at least one must fail. */
export interface Tests {
  readonly files: readonly string[];
  /** Pattern of full test names, for slow files: the tests that fail and at least one that passes. */
  readonly only?: string;
}

/** By the name of the mutant: the guarantee in one sentence, the text to find, its replacement. */
type Rows = Readonly<Record<string, readonly [guard: string, find: string, replace: string]>>;

/** Returns the mutants of one source file that the same tests must catch. */
export function mutants(file: string, tests: string | Tests, rows: Rows): Mutant[] {
  const run = typeof tests === "string" ? { files: [tests] } : tests;
  return Object.entries(rows).map(([name, [guard, find, replace]]) => {
    return { name, guard, file, find, replace, ...run };
  });
}

/** The path of an SQL file from the checkout. */
export function sqlFile(name: string): string {
  return `src/postgres/database/sql/${name}`;
}

/** The text to replace does not occur exactly once. */
export class MisplacedError extends Error {}

/**
 * Returns the source without the guard. The formatter may have broken the text over several lines.
 * @throws MisplacedError unless the text occurs exactly once
 */
export function switchOff({ name, file, find, replace }: Mutant, source: string): string {
  const text = new RegExp(find.split(/\s+/).map(anyLayout).join("\\s+"), "g");
  const times = source.match(text)?.length ?? 0;
  if (times !== 1) throw new MisplacedError(`${name}: the text to replace occurs ${times} times in ${file}`);
  return source.replace(text, () => replace);
}

/** Allows the line breaks and trailing commas that the formatter adds. */
function anyLayout(word: string): string {
  return word
    .replace(/[\\^$.*+?()[\]{}|]/g, "\\$&")
    .replaceAll("\\(", "\\(\\s*")
    .replaceAll("\\)", ",?\\s*\\)")
    .replaceAll("\\.", "\\s*\\.");
}
