import { describe, expect, it } from "vitest";

import { wideLines } from "./width.ts";

const WORDS = "a few words ".repeat(10);

describe("the width check", () => {
  it.each([
    ["src/a.ts", `// ${WORDS}`],
    ["src/a.ts", `throw new Error("${WORDS}");`],
    ["src/a.ts", `  select ${"column, ".repeat(15)}`],
    ["docs/a.md", WORDS],
    ["proto/toolgate/v1/a.proto", `// ${WORDS}`],
  ])("refuses a long line in %s: %s", (file, line) => {
    expect(wideLines(file, `fine\n${line}\n`)).toEqual([
      expect.stringMatching(`^${file}:2: \\d+ characters`),
    ]);
  });

  it.each([
    ["docs/a.md", `| ${WORDS} |`],
    ["docs/a.md", `\`\`\`\n${WORDS}\n\`\`\``],
    ["docs/a.md", `${WORDS} https://example.com/${"path/".repeat(20)}`],
    ["docs/reference/api/a.md", WORDS],
    ["src/a.json", WORDS],
    ["test/a.test.ts", `  it("${WORDS}", async () => {`],
    ["src/a.ts", `const a = /^(?:${WORDS})$/;`],
  ])("accepts in %s: %s", (file, text) => {
    expect(wideLines(file, text)).toEqual([]);
  });
});
