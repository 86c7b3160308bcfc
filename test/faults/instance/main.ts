import { writeSync } from "node:fs";
import { flushCompileCache } from "node:module";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { readServeConfig, collectSecrets } from "../../../src/config/config.ts";
import { ToolgateError } from "../../../src/domain/core/errors.ts";
import { startGateway } from "../../../src/gateway.ts";
import { createLogger } from "../../../src/log.ts";
import { Dice } from "../../lab-kit/random.ts";
import { watchedPorts } from "./fault-ports.ts";
import { command, type Command, type Report } from "./messages.ts";
import type { Order } from "../points.ts";

// The real gateway as a process that starts on a message on standard input and injects the ordered faults.
// Ends when its standard input closes.

type Start = Extract<Command, { start: unknown }>["start"];

const orders = new Map<string, Order>();
const send = (report: Report) => void writeSync(1, `${JSON.stringify(report)}\n`);

createInterface({ input: process.stdin })
  .on("line", (line) => {
    const given = command.parse(JSON.parse(line));
    if ("start" in given) void start(given.start);
    else if ("order" in given) orders.set(given.order.point, given.order);
    else orders.clear();
  })
  .on("close", () => process.exit());
// A killed process cannot write the compile cache: it does so while it waits.
flushCompileCache();

async function start({ databaseUrl, seed, skewMs }: Start): Promise<void> {
  const now = Date.now.bind(Date);
  Date.now = () => now() + skewMs;
  const config = readServeConfig({ ...process.env, DATABASE_URL: databaseUrl });
  const dice = new Dice(seed);
  const watch = { strike, workMs: () => dice.between(0, 15), onLost: () => send({ lost: true }) };
  const log = createLogger(config.LOG_LEVEL, { secrets: collectSecrets(config) });
  const gateway = await startGateway(config, log, { wrapPorts: (ports) => watchedPorts(ports, watch) });
  send({ ready: { baseUrl: gateway.baseUrl } });
}

async function strike(point: string): Promise<void> {
  const order = orders.get(point);
  if (!order) return;
  orders.delete(point);
  send({ struck: order });
  if (order.action === "kill") process.kill(process.pid, "SIGKILL");
  else if (order.action === "stall") process.kill(process.pid, "SIGSTOP");
  else if (order.action === "delay") await sleep(order.ms);
  else throw new ToolgateError("TOOL_FAILED", "the tool fails as ordered", { worked: true });
}
