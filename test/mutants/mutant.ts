/** A guard of the money path, and how it is switched off. */
export interface Mutant {
  /** Kebab-case, and no other's. */
  readonly name: string;
  /** What the guard sees to, in one plain sentence. */
  readonly guard: string;
  /** The source file that it stands in, from the checkout. */
  readonly file: string;
  /** Text that stands in the file exactly once. */
  readonly find: string;
  /** What stands there instead: a program that is as good as any other, but for the guard. */
  readonly replace: string;
  /** The test files of which at least one test must go red. */
  readonly tests: readonly string[];
  /** Only tests whose full name matches this, for files that take long: those that notice, and one more that stays green. */
  readonly only?: string;
}

/** The text that a mutant replaces is not where it says. */
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

/** Allows the line breaks and the trailing comma that the formatter adds within brackets and before members. */
function anyLayout(word: string): string {
  return word
    .replace(/[\\^$.*+?()[\]{}|]/g, "\\$&")
    .replaceAll("\\(", "\\(\\s*")
    .replaceAll("\\)", ",?\\s*\\)")
    .replaceAll("\\.", "\\s*\\.");
}
