import { existsSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";

/** Sources that a container file copies from the build context. */
function copied(text: string): string[] {
  const lines = [...text.matchAll(/^COPY (?!--from)(.+) \S+$/gm)];
  // The last letter in brackets: a file that may be missing, such as the lock file in the npm package.
  return lines.flatMap(([, sources = ""]) => sources.replaceAll(/\[(.)\]/g, "$1").split(" "));
}

describe.each(["deploy/Containerfile", "deploy/kubernetes/sandbox-image/Dockerfile"])("%s", (file) => {
  const sources = copied(readFileSync(file, "utf8"));

  it("copies only files of the build context that its ignore file lets in", () => {
    const allowed = readFileSync(`${file}.dockerignore`, "utf8")
      .split("\n")
      .filter((line) => line.startsWith("!"))
      .map((line) => line.slice(1));
    const isSent = (source: string) =>
      allowed.some(
        (entry) => source === entry || source.startsWith(`${entry}/`) || entry.startsWith(`${source}/`),
      );
    expect(sources.length).toBeGreaterThan(3);
    const missing = sources.filter((source) => source !== "dist" && !existsSync(source));
    expect([...missing, ...sources.filter((source) => !isSent(source))]).toEqual([]);
  });
});
