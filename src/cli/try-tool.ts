import path from "node:path";
import process from "node:process";
import { type Command, InvalidArgumentError } from "commander";
import { ConfigError, readEnvironment, collectSecrets } from "../config/config.ts";
import { readDocument, resolveDocument } from "../config/document.ts";
import { isJsonObject, type JsonObject } from "../domain/core/json.ts";
import { displayUsd } from "../domain/core/money.ts";
import type { CustomToolSettings } from "../tools/custom/settings.ts";
import { createLogger } from "../log.ts";
import { CommandError, outputFor } from "./command.ts";

interface TryOptions {
  file?: string;
  params: JsonObject;
  json?: boolean;
}

/** `tools try` */
export function addToolCommands(program: Command): void {
  program
    .command("tools")
    .description("tests tools")
    .command("try")
    .description(
      "calls a custom tool of a configuration file on its real server; nothing is charged or stored",
    )
    .argument("<name>", "tool")
    .option("--file <file>", "configuration file; default: TOOLGATE_CONFIG")
    .option("--params <json>", "parameters of the call", jsonObject, {})
    .option("--json", "print JSON")
    .action(tryTool);
}

async function tryTool(name: string, { file: given, params, json = false }: TryOptions): Promise<void> {
  const environment = readEnvironment();
  const file = given ?? environment["TOOLGATE_CONFIG"];
  if (!file) throw new ConfigError(["--file: name the configuration file, or set TOOLGATE_CONFIG"]);
  const settings = settingsOf(name, file, environment);
  const secrets = collectSecrets({ DATABASE_URL: undefined, upstreams: [], tools: settings });
  const [own] = settings;
  if (!own) throw new CommandError(`${file} has no usable settings of ${name}`);
  const { tryTool: call } = await import("../gateway/tool-trial.ts");
  const log = createLogger("warn", { secrets });
  const tried = await call(own, { params, signal: new AbortController().signal, log });
  const { price, charge, result } = tried;
  if (json)
    return outputFor(true).record({
      tool: name,
      price_usdc_microusd: price,
      charge_usdc_microusd: charge,
      result,
    });
  process.stdout.write(
    `price: ${displayUsd(price)}; this call would be charged ${displayUsd(charge)}\n` +
      `${JSON.stringify(result, undefined, 2)}\n`,
  );
}

/** Settings of the tool alone, so that problems of others do not matter. */
function settingsOf(name: string, file: string, environment: NodeJS.ProcessEnv): CustomToolSettings[] {
  const { content } = readDocument(file);
  const index = content.tools.findIndex((tool) => tool.name === name);
  if (index < 0) {
    const names = content.tools.map((tool) => tool.name).join(", ") || "none";
    throw new CommandError(`${file} has no custom tool ${name}; it has ${names}`);
  }
  const { tools, problems } = resolveDocument(content, environment, path.dirname(path.resolve(file)));
  const own = problems.filter((problem) => problem.startsWith(`tools[${index}].`));
  if (own.length > 0) throw new ConfigError(own);
  return tools.filter((tool) => tool.name === name);
}

function jsonObject(text: string): JsonObject {
  try {
    const value: unknown = JSON.parse(text);
    if (isJsonObject(value)) return value;
  } catch {
    // The message below.
  }
  throw new InvalidArgumentError('must be a JSON object, e.g. {"city": "Bern"}');
}
