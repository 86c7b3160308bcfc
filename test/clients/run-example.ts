import { spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import process from "node:process";
import { ROOT } from "../tooling/command.ts";

const EXAMPLES = path.join(ROOT, "docs/examples");

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** The environment after the first commands of docs/guides/clients.md, without variables of the test run. */
function environment(variables: Readonly<Record<string, string>>): NodeJS.ProcessEnv {
  const paths = [
    path.dirname(process.execPath),
    path.join(ROOT, "node_modules/.bin"),
    process.env["PATH"] ?? "",
  ];
  const own = {
    PATH: paths.join(path.delimiter),
    HOME: process.env["HOME"],
    // Go must not use the network.
    GOFLAGS: "-mod=mod",
    GOPROXY: "off",
  };
  return { ...own, ...variables };
}

function run(
  program: string,
  args: readonly string[],
  variables: Readonly<Record<string, string>>,
): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { env: environment(variables), stdio: ["ignore", "pipe", "pipe"] });
    const ended = { stdout: "", stderr: "" };
    child.stdout.setEncoding("utf8").on("data", (chunk: string) => (ended.stdout += chunk));
    child.stderr.setEncoding("utf8").on("data", (chunk: string) => (ended.stderr += chunk));
    child.on("error", reject);
    child.on("close", (code) => resolve({ code, ...ended }));
  });
}

/** Runs a file of docs/examples as its header describes. */
export function runExample(file: string, variables: Readonly<Record<string, string>>): Promise<Ended> {
  const at = path.join(EXAMPLES, file);
  if (file.endsWith(".ts")) return run(process.execPath, [at], variables);
  if (file.endsWith(".py")) return run("python3", [at], variables);
  if (file.endsWith(".json")) return callAsHost(at, variables);
  if (file.endsWith(".go")) return run("go", ["run", at], variables);
  return run(at, [], variables);
}

/** Calls a tool with the MCP inspector, a host that reads this configuration file. */
async function callAsHost(file: string, variables: Readonly<Record<string, string>>): Promise<Ended> {
  const { TOOLGATE_URL = "", TOOLGATE_KEY = "", WALLET } = variables;
  const config = `${WALLET}.mcp.json`;
  const text = readFileSync(file, "utf8");
  writeFileSync(
    config,
    text.replace("http://127.0.0.1:8080", TOOLGATE_URL).replace("sk-agent-…", TOOLGATE_KEY),
  );
  const call = ["--method", "tools/call", "--tool-name", "vram_estimate", "--tool-arg", "model=llama-3.1-8b"];
  const args = ["--cli", "--config", config, "--server", "toolgate", ...call];
  const ended = await run("mcp-inspector", args, { MCP_INSPECTOR_SECRET_STORE: "memory", ...variables });
  // Its notes on where it stores secrets are not of interest.
  return { ...ended, stderr: ended.stderr.replace(/^\[mcp-inspector\] .*\n/gm, "") };
}

/** Programs that a kind of file needs. */
const NEEDS: readonly [suffix: string, what: string, program: string, ...args: string[]][] = [
  [".py", "python3 with the package cryptography", "python3", "-c", "import cryptography"],
  [".go", "go on the PATH", "go", "version"],
  [".sh", "curl on the PATH", "curl", "--version"],
  [".sh", "jq on the PATH", "jq", "--version"],
];

/** Suffixes of files that cannot run on this machine, with the reason. */
export async function missingPrograms(): Promise<ReadonlyMap<string, string>> {
  const tried = NEEDS.map(async ([suffix, what, program, ...args]): Promise<[string, string] | undefined> => {
    const works = await run(program, args, {}).then(
      ({ code }) => code === 0,
      () => false,
    );
    return works ? undefined : [suffix, `there is no ${what}`];
  });
  return new Map((await Promise.all(tried)).filter((one) => one !== undefined));
}
