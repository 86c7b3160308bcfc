import { writeSync } from "node:fs";
import { flushCompileCache } from "node:module";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { readServeConfig } from "../../../src/config/config.ts";
import { collectSecrets } from "../../../src/config/secrets.ts";
import { ToolgateError } from "../../../src/domain/core/errors.ts";
import { startGateway } from "../../../src/gateway.ts";
import { createLogger } from "../../../src/log.ts";
import { around } from "../fault-ports.ts";
import { Dice } from "../seeded-random.ts";
import type { PortPoint } from "../points.ts";
import { command, type Command, type Report } from "./messages.ts";

// The real gateway as a process that starts on a message on standard input and injects the ordered faults:
// node test/faults/instance/main.ts [--keep]. Ends when its standard input closes.

type Order = Extract<Command, { order: unknown }>["order"];
type Start = Extract<Command, { start: unknown }>["start"];

const { values } = parseArgs({ options: { keep: { type: "boolean", default: false } } });
const orders = new Map<PortPoint, Order>();
const send = (report: Report) => void writeSync(1, `${JSON.stringify(report)}\n`);

createInterface({ input: process.stdin })
  .on("line", (line) => {
    const given = command.parse(JSON.parse(line));
    if ("start" in given) void start(given.start);
    else if ("order" in given) orders.set(given.order.point, given.order);
    else orders.clear();
  })
  .on("close", () => process.exit());
if (values.keep) flushCompileCache();

async function start({ databaseUrl, seed, skewMs }: Start): Promise<void> {
  const now = Date.now.bind(Date);
  Date.now = () => now() + skewMs;
  const config = readServeConfig({ ...process.env, DATABASE_URL: databaseUrl });
  const dice = new Dice(seed);
  const watch = { strike, workMs: () => dice.between(0, 15), onLost: () => send({ lost: true }) };
  const gateway = await startGateway(
    config,
    createLogger(config.LOG_LEVEL, { secrets: collectSecrets(config) }),
    {
      around: (deps) => around(deps, watch),
    },
  );
  send({ ready: { baseUrl: gateway.baseUrl } });
}

async function strike(point: PortPoint): Promise<void> {
  const order = orders.get(point);
  if (!order) return;
  orders.delete(point);
  send({ struck: order });
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
      throw new ToolgateError("TOOL_FAILED", "the tool fails as ordered", { worked: true });
  }
}
