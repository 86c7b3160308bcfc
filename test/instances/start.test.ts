import { randomBytes } from "node:crypto";
import { Keypair } from "@solana/web3.js";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { startLocalChain } from "../../src/localchain/index.ts";
import { databaseUrl, query } from "../support/database-server.ts";
import { startGround, type Ground } from "../support/world.ts";
import { run } from "./process.ts";

/** Nothing listens on port 9 ("discard"). */
const NOWHERE = "127.0.0.1:9";
const TARGETS = { HOST: "127.0.0.1", PORT: "0", GRPC_PORT: "0" };

let ground: Ground;
beforeAll(async () => {
  ground = await startGround();
});
afterAll(() => ground.close());

/** Asserts that `serve` exits with 2, writes nothing to stdout and names all of these. */
async function expectRefusal(settings: Record<string, string>, ...problems: RegExp[]): Promise<string> {
  const { exitCode, stdout, stderr } = await run(["serve", "--json"], settings);
  for (const problem of problems) expect(stderr).toMatch(problem);
  expect(stderr.match(/^ {2}- /gm) ?? []).toHaveLength(problems.length);
  expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: "" });
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

describe("migrate", () => {
  it("migrate brings an empty database to the schema once from three processes", async () => {
    const server = inject("postgresUrl");
    const name = `empty_${randomBytes(6).toString("hex")}`;
    await query(server, `CREATE DATABASE ${name}`);
    try {
      const settings = { DATABASE_URL: databaseUrl(server, name) };
      const runs = await Promise.all(Array.from({ length: 3 }, () => run(["migrate", "--json"], settings)));
      expect(runs.map(({ exitCode, stderr }) => ({ exitCode, stderr }))).toEqual(
        runs.map(() => ({ exitCode: 0, stderr: "" })),
      );
      const applied = runs.map(({ stdout }): unknown => JSON.parse(stdout));
      expect(applied.filter((each) => JSON.stringify(each) !== '{"applied":[]}')).toHaveLength(1);
    } finally {
      await query(server, `DROP DATABASE ${name} WITH (FORCE)`);
    }
  });
});
