import { command, type Finished } from "./command.ts";
import { docsAreShort } from "./docs-size.ts";
import { generatedCodeIsCurrent } from "./generated.ts";
import { layersAreKept } from "./layers.ts";
import { sqlIsCurrent } from "./sql-checksums.ts";
import { linesFit } from "./width.ts";
import { wordsAreFit } from "./words.ts";

/** One part of `npm run check`. */
export interface Part {
  readonly name: string;
  readonly run: (signal?: AbortSignal) => Promise<Finished>;
}

/** The image of the published contract; its README explains when and how to rebuild it. */
export const BASELINE = "test/contract/proto-baseline/image.binpb";

function tool(name: string, program: string, ...args: string[]): Part {
  return { name, run: (signal) => command(program, args, { signal }) };
}

/** The types of Node programs and of browser programs, which have different globals. */
async function typesAreRight(signal?: AbortSignal): Promise<Finished> {
  const programs = [
    ["tsconfig.json", "node"],
    ["src/console/tsconfig.json", "browser"],
  ] as const;
  // A repeated check costs a fifth of the first.
  const checked = await Promise.all(
    programs.map(([program, cached]) => {
      const cache = ["--incremental", "--tsBuildInfoFile", `node_modules/.cache/tsc/${cached}.tsbuildinfo`];
      return command("tsc", ["-p", program, "--pretty", "false", "--singleThreaded", ...cache], { signal });
    }),
  );
  return {
    code: Math.max(...checked.map(({ code }) => code)),
    output: checked.map(({ output }) => output).join(""),
  };
}

/** Every part, the slow ones first, so that they do not run alone at the end. */
export const PARTS: readonly Part[] = [
  { name: "generated", run: generatedCodeIsCurrent },
  { name: "tsc", run: typesAreRight },
  tool(
    "oxlint",
    "oxlint",
    "--type-aware",
    "--deny-warnings",
    "--report-unused-disable-directives",
    "--format=unix",
  ),
  tool("knip", "knip", "--no-progress", "--no-config-hints"),
  tool("buf-lint", "buf", "lint"),
  tool("buf-format", "buf", "format", "--diff", "--exit-code"),
  tool("buf-breaking", "buf", "breaking", "--against", BASELINE),
  tool("oxfmt", "oxfmt", "--check"),
  { name: "layers", run: layersAreKept },
  { name: "words", run: wordsAreFit },
  { name: "width", run: linesFit },
  { name: "docs", run: docsAreShort },
  { name: "sql", run: sqlIsCurrent },
];
