import process from "node:process";
import { randomBytes } from "node:crypto";
import { Keypair } from "@solana/web3.js";
import { describe, expect, inject, it } from "vitest";
import { startLocalChain } from "../../src/localchain/index.ts";
import { databaseUrl, query } from "../support/database-server.ts";
import { startGround } from "../support/world.ts";
import { runToolgateHere } from "../cli/toolgate.ts";
import { closing } from "../support/postgres.ts";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { ROOT } from "../tooling/command.ts";
import { hasBubblewrap } from "../sandbox/isolations.ts";

/** Nothing listens on port 9 ("discard"). */
const NOWHERE = "127.0.0.1:9";
const TARGETS = { HOST: "127.0.0.1", PORT: "0", GRPC_PORT: "0" };

const ground = closing(await startGround());

/** Asserts that `serve` exits with 2, writes nothing to stdout and names all of these. */
async function expectRefusal(settings: Record<string, string>, ...problems: RegExp[]): Promise<string> {
  const { code, stdout, stderr } = await runToolgateHere(settings, ["serve", "--json"]);
  for (const problem of problems) expect(stderr).toMatch(problem);
  expect(stderr.match(/^ {2}- /gm) ?? []).toHaveLength(problems.length);
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  return stderr;
}

describe("serve refuses to start", () => {
  it("serve rejects missing settings and names all of them", async () => {
    await expectRefusal(
      {},
      /DATABASE_URL: is not set/,
      /SOLANA_RPC_URLS: is not set/,
      /TREASURY_OWNER: is not set/,
    );
  });

  it("serve rejects invalid settings and names them together with missing ones", async () => {
    await expectRefusal(
      { PORT: "many", RUN_LEASE_MS: "10", TREASURY_OWNER: "me", SOLANA_RPC_URLS: "ftp://x" },
      /PORT: must be a whole number/,
      /RUN_LEASE_MS: must be between/,
      /TREASURY_OWNER: must be a wallet address/,
      /SOLANA_RPC_URLS.*: must be an http/,
      /DATABASE_URL: is not set/,
    );
  });

  it("serve reports unreachable database and RPC and an unreadable fee payer without their passwords", async () => {
    const settings = {
      ...TARGETS,
      DATABASE_URL: `postgres://toolgate:hush-db@${NOWHERE}/toolgate`,
      SOLANA_RPC_URLS: `http://${NOWHERE}/?api-key=hush-rpc`,
      TREASURY_OWNER: ground.treasury.publicKey.toBase58(),
      FEE_PAYER_KEYPAIR: "/nowhere/fee-payer.json",
    };
    const reported = await expectRefusal(
      settings,
      /DATABASE_URL: the database cannot be reached \(ECONNREFUSED/,
      /SOLANA_RPC_URLS: 127\.0\.0\.1:9 .*check the URL/,
      /FEE_PAYER_KEYPAIR: \/nowhere\/fee-payer\.json cannot be read \(ENOENT\)/,
    );
    expect(reported).not.toContain("hush");
  });

  it("serve reports an old schema, a wrong chain and a missing treasury account together", async () => {
    const chain = await startLocalChain({
      port: 0,
      slotMs: 0,
      genesisHash: "EtWTRABZaYq6iMfeYKouRu166VU2xqa1wcaWoxPkrZBG",
    });
    const server = inject("postgresUrl");
    const name = `empty_${randomBytes(6).toString("hex")}`;
    await query(server, `CREATE DATABASE ${name}`);
    try {
      await expectRefusal(
        {
          ...TARGETS,
          DATABASE_URL: databaseUrl(server, name),
          SOLANA_RPC_URLS: `${ground.chain.url},${chain.url}`,
          TREASURY_OWNER: Keypair.generate().publicKey.toBase58(),
        },
        /DATABASE_URL: the database has no schema yet; run: .*migrate/,
        /is not Solana mainnet \(genesis hash EtWTR/,
        new RegExp(`${new URL(ground.chain.url).host} the treasury's token account \\w+ does not exist`),
        new RegExp(`${new URL(chain.url).host} the treasury's token account \\w+ does not exist`),
      );
    } finally {
      await query(server, `DROP DATABASE ${name} WITH (FORCE)`);
      await chain.close();
    }
  });

  it("serve rejects a port in use", async () => {
    const { port } = new URL(ground.chain.url);
    await expectRefusal(
      { ...ground.settings, LOG_LEVEL: "silent", PORT: port },
      /PORT: cannot listen on port \d+ .*EADDRINUSE/,
    );
  });
});

/** How `serve` and `doctor` behave without bubblewrap, which is hidden on this machine. */
const BUBBLEWRAP = "/usr/bin/bwrap";
const COVER = hasBubblewrap()
  ? [BUBBLEWRAP, "--dev-bind", "/", "/", "--ro-bind", "/dev/null", BUBBLEWRAP]
  : [];

async function withoutBubblewrap(args: readonly string[], isolation: string) {
  const [command = "", ...rest] = [...COVER, process.execPath, "src/main.ts", ...args];
  const env = { PATH: process.env["PATH"] ?? "", ...ground.settings, SANDBOX_ISOLATION: isolation };
  const child = spawn(command, rest, { cwd: ROOT, env, stdio: ["ignore", "pipe", "pipe"] });
  const [out, err, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "exit")]);
  return { code: Number(code), out, err };
}

it("reports missing isolation as a problem when required: doctor says so and serve does not start", async () => {
  const doctor = await withoutBubblewrap(["doctor", "--json"], "required");
  expect(doctor.code, doctor.err).toBe(1);
  expect(JSON.parse(doctor.out)).toMatchObject({
    ok: false,
    problems: [expect.stringMatching(/^SANDBOX_ISOLATION: .*bubblewrap/)],
  });
  const serve = await withoutBubblewrap(["serve"], "required");
  expect([serve.code, serve.out]).toEqual([2, ""]);
  expect(serve.err).toMatch(/SANDBOX_ISOLATION: .*bubblewrap/);
});

it("reports missing isolation as a warning by default, with the tools unavailable", async () => {
  const { code, out } = await withoutBubblewrap(["doctor", "--json"], "");
  expect([code, JSON.parse(out)]).toEqual([
    0,
    {
      ...{
        ok: true,
        problems: [],
        off: expect.arrayContaining([expect.stringMatching(/^sandbox: .*bubblewrap/)]),
      },
      warnings: expect.arrayContaining([
        expect.stringMatching(/^SANDBOX_ISOLATION: .*unavailable.*bubblewrap/),
      ]),
    },
  ]);
});

it("reports nothing when less isolation is configured", async () => {
  const { code, out } = await withoutBubblewrap(["doctor"], "process");
  expect([code, out]).toEqual([0, expect.not.stringContaining("sandbox")]);
  expect(out).not.toContain("- off: sandbox");
});
