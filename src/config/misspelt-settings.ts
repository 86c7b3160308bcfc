import { settings } from "./settings.ts";
import type { Environment } from "./config-file.ts";

/** Shorter names are near to too many others. */
const MIN_LENGTH = 6;

const NAMES = Object.keys(settings).filter((name) => name.length >= MIN_LENGTH);

/** Returns a warning for each variable whose name is nearly that of a setting. */
export function misspeltSettings(environment: Environment): string[] {
  const isOwn = (name: string) => Object.hasOwn(settings, name.replace(/_FILE$/, ""));
  const prefix = environment["TOOL_ENV_PREFIX"] ?? "TOOL_";
  return Object.keys(environment).flatMap((name) => {
    if (name.length < MIN_LENGTH || isOwn(name) || name.startsWith(prefix)) return [];
    const suffix = name.endsWith("_FILE") ? "_FILE" : "";
    const bare = name.slice(0, name.length - suffix.length).toUpperCase();
    const near = NAMES.find((known) => isNear(bare, known) && environment[known] === undefined);
    return near === undefined
      ? []
      : [`${name}: is no setting, and is ignored; do you mean ${near}${suffix}?`];
  });
}

/** Whether texts differ by at most two characters: one of eight, and by swapped neighbours. */
function isNear(one: string, other: string): boolean {
  const most = other.length < 8 ? 1 : 2;
  return Math.abs(one.length - other.length) <= most && distance(one, other) <= most;
}

/** Optimal string alignment: insertions, deletions, substitutions and swaps of neighbours. */
function distance(one: string, other: string): number {
  let [before, row] = [[] as number[], Array.from({ length: other.length + 1 }, (_, at) => at)];
  for (let i = 1; i <= one.length; i++) {
    const next = [i];
    for (let j = 1; j <= other.length; j++) {
      const same = one[i - 1] === other[j - 1];
      const swapped = i > 1 && j > 1 && one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1];
      next[j] = Math.min(
        (row[j] ?? 0) + 1,
        (next[j - 1] ?? 0) + 1,
        (row[j - 1] ?? 0) + (same ? 0 : 1),
        swapped ? (before[j - 2] ?? 0) + 1 : Number.POSITIVE_INFINITY,
      );
    }
    [before, row] = [row, next];
  }
  return row[other.length] ?? 0;
}
