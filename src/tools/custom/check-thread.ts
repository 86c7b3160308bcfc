/** Worker thread of slow-checks.ts: checks parameters, one message after the other. */
import process from "node:process";
import { parentPort } from "node:worker_threads";
import { isJsonObject, type JsonObject } from "../../domain/core/json.ts";
import { Lru } from "../../domain/core/lru.ts";
import { ParameterCheck } from "./parameter-check.ts";
import type { CheckAnswer, CheckRequest } from "./slow-checks.ts";

/** Drops the schemas of replaced configurations. */
const compiled = new Lru<string, ParameterCheck>(256);

parentPort?.on("message", ({ schema, params }: CheckRequest) => {
  const check = compiled.get(schema) ?? new ParameterCheck(objectOf(schema));
  compiled.set(schema, check);
  const before = process.threadCpuUsage();
  const problems = check.problems(objectOf(params));
  const { user, system } = process.threadCpuUsage(before);
  const answer: CheckAnswer = { problems, ms: (user + system) / 1000 };
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread of Node, not a window
  parentPort?.postMessage(answer);
});

function objectOf(text: string): JsonObject {
  const json: unknown = JSON.parse(text);
  if (!isJsonObject(json)) throw new Error("no JSON object");
  return json;
}
