import { writeSync } from "node:fs";
import { flushCompileCache } from "node:module";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { readServeConfig } from "../../../src/config/config.ts";
import { startGateway } from "../../../src/gateway.ts";
import { createLogger } from "../../../src/log.ts";
import { around } from "../around.ts";
import { Dice } from "../dice.ts";
import type { PortPoint } from "../points.ts";
import { command, type Command, type Report } from "./messages.ts";

// The real gateway, as a process that strikes itself where the lab's orders on its standard input say so:
// node test/faults/instance/main.ts --skew-ms N --seed TEXT. It ends when its standard input does.

type Order = Extract<Command, { order: unknown }>["order"];

const { values } = parseArgs({
  options: {
    "skew-ms": { type: "string", default: "0" },
    seed: { type: "string", default: "" },
    keep: { type: "boolean", default: false },
  },
});
const skewMs = Number(values["skew-ms"]);
const now = Date.now.bind(Date);
Date.now = () => now() + skewMs;

const orders = new Map<PortPoint, Order>();
const dice = new Dice(values.seed);
const tell = (report: Report) => void writeSync(1, `${JSON.stringify(report)}\n`);

createInterface({ input: process.stdin })
  .on("line", (line) => {
    const given = command.parse(JSON.parse(line));
    if ("order" in given) orders.set(given.order.point, given.order);
    else orders.clear();
  })
  .on("close", () => process.exit());

async function strike(point: PortPoint): Promise<void> {
  const order = orders.get(point);
  if (!order) return;
  orders.delete(point);
  tell({ struck: order });
  switch (order.action) {
    case "kill":
      process.kill(process.pid, "SIGKILL");
      break;
    case "stall":
      process.kill(process.pid, "SIGSTOP");
      break;
    case "delay":
      await sleep(order.ms);
      break;
    case "fail":
      throw new Error("the tool fails, as it was told to");
  }
}

const config = readServeConfig(process.env);
const gateway = await startGateway(config, createLogger(config.LOG_LEVEL), {
  around: (deps) => around(deps, { strike, workMs: () => dice.between(0, 15), onLost: () => tell({ lost: true }) }),
});
tell({ ready: { baseUrl: gateway.baseUrl } });
// One that is killed has no time for it.
if (values.keep) flushCompileCache();
