import { readFile } from "node:fs/promises";
import { summarize, type ProfileSummary, type Share } from "./summary.ts";

/** How long a server starts and waits for its first calls, at least. */
const START_MS = 2_500;

/**
 * Shares of a server's time after its start.
 * @param file a `.cpuprofile`
 */
export async function readProfile(file: string): Promise<ProfileSummary> {
  return summarize(await readFile(file, "utf8"), START_MS);
}

/** The same for a terminal. @param lines of each list, at most */
export function profileText({ busyMs, groups, owners, functions }: ProfileSummary, lines: number): string {
  const reported = (shares: readonly Share[]) =>
    shares
      .slice(0, lines)
      .map(({ place, share }) => `${(share * 100).toFixed(1).padStart(5)} %  ${place}\n`)
      .join("");
  return (
    `busy ${busyMs.toFixed(0)} ms\n\nby group\n${reported(groups)}\nby owner\n${reported(owners)}\nby ` +
    `function, self\n${reported(functions)}`
  );
}
