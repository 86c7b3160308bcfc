import process from "node:process";
import { Tally, type Load } from "./tally.ts";
import type { LoadCommand, LoadJob, LoadReport } from "./load-process.ts";

// A load generator, controlled over IPC: node test/bench/load/main.ts http|grpc

const { open }: { open(job: LoadJob, tally: Tally): Promise<Load> } =
  process.argv[2] === "grpc" ? await import("./grpc.ts") : await import("./http.ts");
let tally = new Tally();
let load: Load | undefined;

process.on("message", (command: unknown) => {
  obey(command as LoadCommand)
    .catch((error: unknown): LoadReport => ({ answers: 0, atMs: 0, failure: String(error) }))
    .then((report) => process.connected && process.send?.(report))
    .catch(() => process.exit(1));
});

async function obey(command: LoadCommand): Promise<LoadReport> {
  if (command === "pause") await load?.stop();
  else if (command !== "sample") {
    tally = new Tally();
    load = await open(command.start, tally);
  }
  return tally.report();
}
