import { readFile } from "node:fs/promises";
import os from "node:os";
import process from "node:process";

export function machine(): string {
  const cpus = os.cpus();
  return (
    `Node ${process.version}, ${os.type()} ${os.arch()}, ${cpus.length} x ${cpus[0]?.model}, ` +
    `${(os.totalmem() / 2 ** 30).toFixed(0)} GiB`
  );
}

/** Processor time since boot, clock ticks: used, and used plus stolen. */
interface ProcessorTimes {
  readonly used: number;
  readonly stolen: number;
}

/** Starts to measure the processor time stolen by the host; undefined without /proc. */
export async function countStolen(): Promise<(() => Promise<number | undefined>) | undefined> {
  const before = await processorTimes();
  if (!before) return undefined;
  return async () => {
    const after = await processorTimes();
    if (!after) return undefined;
    const [used, stolen] = [after.used - before.used, after.stolen - before.stolen];
    return used + stolen > 0 ? stolen / (used + stolen) : 0;
  };
}

/** proc(5), /proc/stat: user, nice, system, idle, iowait, irq, softirq, steal. */
async function processorTimes(): Promise<ProcessorTimes | undefined> {
  const stat = await readFile("/proc/stat", "utf8").catch(() => undefined);
  const all = /^cpu +(.*)$/m.exec(stat ?? "")?.[1];
  if (all === undefined) return undefined;
  const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0, stolen = 0] = all.split(" ").map(Number);
  return { used: user + nice + system + irq + softirq, stolen };
}
