import { readFile } from "node:fs/promises";
import process from "node:process";
import { summarize, type Share } from "./summary.ts";

// node test/bench/profile/main.ts <file.cpuprofile> [lines]: where the time of a server went, without the first tenth (its start).

const [file = "", lines = "40"] = process.argv.slice(2);
const { busyMs, owners, functions } = summarize(await readFile(file, "utf8"), 0.1);
const told = (shares: readonly Share[]) =>
  shares
    .slice(0, Number(lines))
    .map(({ place, share }) => `${(share * 100).toFixed(1).padStart(5)} %  ${place}`)
    .join("\n");
process.stdout.write(
  `busy ${busyMs.toFixed(0)} ms\n\nby owner\n${told(owners)}\n\nby function, self\n${told(functions)}\n`,
);
