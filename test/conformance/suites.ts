import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import os from "node:os";
import path from "node:path";
import process from "node:process";
import { createInterface } from "node:readline";
import { z } from "zod";
import { command } from "../tooling/command.ts";

const require = createRequire(import.meta.url);
const PROGRAMS = {
  "0.2.0-alpha.12": require.resolve("@modelcontextprotocol/conformance/dist/index.js"),
  "0.1.16": require.resolve("conformance-0.1/dist/index.js"),
};

/** A set of scenarios of one release of the official suite. */
export interface Suite {
  /** Its name in docs/reference/mcp.md and in the name of the baseline file. */
  readonly name: string;
  readonly release: keyof typeof PROGRAMS;
  readonly choice: readonly string[];
}

export const SUITES: readonly Suite[] = [
  { name: "2026-07-28", release: "0.2.0-alpha.12", choice: ["--requirements", "2026-07-28"] },
  { name: "2025-11-25", release: "0.2.0-alpha.12", choice: ["--requirements", "2025-11-25"] },
  { name: "0.1.16", release: "0.1.16", choice: ["--suite", "all"] },
];

const checksSchema = z.array(
  z.object({
    id: z.string(),
    status: z.enum(["SUCCESS", "FAILURE", "WARNING", "SKIPPED", "INFO"]),
    errorMessage: z.string().optional(),
  }),
);

/** A scenario and its checks. */
export interface Scenario {
  readonly name: string;
  readonly checks: z.output<typeof checksSchema>;
}

/** The outcome of a run. */
export interface Judgement {
  /** 0: every failure is in the baseline, and every entry of the baseline still fails. */
  readonly code: number;
  readonly output: string;
  readonly scenarios: readonly Scenario[];
}

/** Path of the expected failures of a suite. */
export function baselineFile({ name }: Suite): string {
  return path.join(import.meta.dirname, `expected-failures-${name}.yml`);
}

/** Runs a suite against a server. */
export async function judge(suite: Suite, url: string): Promise<Judgement> {
  const results = await mkdtemp(path.join(os.tmpdir(), "toolgate-conformance-"));
  try {
    const { code, output } = await command("node", [
      ...[PROGRAMS[suite.release], "server", "--url", url, ...suite.choice],
      ...["--expected-failures", baselineFile(suite), "--output-dir", results],
    ]);
    return { code, output, scenarios: await readScenarios(results) };
  } finally {
    await rm(results, { recursive: true, force: true });
  }
}

/** An authorization server, and a client that it knows. */
interface AuthorizationServer {
  readonly issuer: string;
  readonly clientId: string;
  readonly resource: string;
  /** A free port, where the suite receives the answer at `/callback`. */
  readonly port: number;
  /** A person's part, from the address to open to the answer. */
  readonly approve: (address: string) => Promise<unknown>;
}

/** Runs the scenarios of authorization servers. */
export async function judgeAuthorization({
  issuer,
  approve,
  ...client
}: AuthorizationServer): Promise<Judgement> {
  const results = await mkdtemp(path.join(os.tmpdir(), "toolgate-conformance-"));
  try {
    const child = spawn(
      process.execPath,
      [
        ...[PROGRAMS["0.2.0-alpha.12"], "authorization", "--url", issuer, "--client-id", client.clientId],
        ...["--resource", client.resource, "--port", String(client.port), "--output-dir", results],
      ],
      { stdio: ["ignore", "pipe", "inherit"] },
    );
    const closed = once(child, "close");
    let output = "";
    for await (const line of createInterface({ input: child.stdout })) {
      output += `${line}\n`;
      if (line.startsWith(`${issuer}/`)) await approve(line);
    }
    const [code] = await closed;
    return { code, output, scenarios: await readScenarios(results) };
  } finally {
    await rm(results, { recursive: true, force: true });
  }
}

/** The results are in folders named `server-<scenario>-<time>`, or `authorization-server-…`. */
async function readScenarios(results: string): Promise<Scenario[]> {
  const folders = await readdir(results);
  return Promise.all(
    folders.toSorted().map(async (folder) => {
      const name = /^(?:authorization-)?server-(.+?)-\d{4}-\d\d-\d\dT/.exec(folder)?.[1];
      if (name === undefined) throw new Error(`${folder} is no scenario`);
      // A scenario that broke off has none.
      const checks = await readFile(path.join(results, folder, "checks.json"), "utf8").catch(() => undefined);
      if (checks === undefined)
        return { name, checks: [{ id: name, status: "FAILURE", errorMessage: "broke off" }] };
      return { name, checks: checksSchema.parse(JSON.parse(checks)) };
    }),
  );
}
