import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runToolgateHere } from "../cli/toolgate.ts";
import { Instances } from "../instances/process.ts";
import { startGround, type Ground } from "../support/world.ts";

let ground: Ground;
const instances = new Instances();
beforeAll(async () => {
  ground = await startGround();
});
afterAll(async () => {
  await instances.close();
  await ground.close();
});

const asSuperuser = () => ({ ...ground.settings, DATABASE_URL: ground.database.url });
const WARNING =
  /DATABASE_URL: its role \S+ is a superuser, so .* serve with a role of its own \(migrate --grant-to\)/;
const ALONE_ON_DISK = expect.stringMatching(/^DATABASE_URL: it has no synchronous standby/);

/** The same chain under a non-loopback address. */
const asRemote = () => ({
  ...ground.settings,
  SOLANA_RPC_URLS: (ground.settings["SOLANA_RPC_URLS"] ?? "").replace("127.0.0.1", "0.0.0.0"),
});
const ALONE = /SOLANA_RPC_URLS: 0\.0\.0\.0:\d+ is the only endpoint, so that its word alone decides/;

describe("doctor", () => {
  it("doctor warns about a superuser without a problem", async () => {
    const { code, stdout } = await runToolgateHere(asSuperuser(), ["doctor", "--json"]);
    expect([code, JSON.parse(stdout)]).toEqual([
      0,
      {
        ok: true,
        problems: [],
        warnings: [expect.stringMatching(WARNING), ALONE_ON_DISK],
        off: expect.any(Array),
      },
    ]);
    expect((await runToolgateHere(asSuperuser(), ["doctor"])).stdout).toMatch(/^- warning: DATABASE_URL: /);
  });

  it("doctor warns when a single endpoint decides, and when a proxy is not trusted", async () => {
    const settings = { ...asRemote(), PUBLIC_URL: "https://gateway.example" };
    const { code, stdout } = await runToolgateHere(settings, ["doctor", "--json"]);
    expect([code, JSON.parse(stdout)]).toEqual([
      0,
      {
        ok: true,
        problems: [],
        warnings: [
          ALONE_ON_DISK,
          expect.stringMatching(ALONE),
          expect.stringMatching(/^TRUSTED_PROXY_HOPS: is 0, but PUBLIC_URL is https/),
        ],
        off: expect.any(Array),
      },
    ]);
  });

  it("doctor accepts a separate role, warns without a standby and lists disabled features", async () => {
    const settings = { ...ground.settings, SANDBOX_ISOLATION: "off", FEE_PAYER_KEYPAIR: "" };
    const { code, stdout } = await runToolgateHere(settings, ["doctor"]);
    expect([code, stdout]).toEqual([0, expect.not.stringContaining("superuser")]);
    expect(stdout).toMatch(/^- warning: DATABASE_URL: it has no synchronous standby/m);
    expect(stdout).toMatch(
      /^- off: fee payer: .* x402 clients cannot pay; set FEE_PAYER_KEYPAIR, or FEE_PAYER_SIGNER$/m,
    );
    expect(stdout).toMatch(
      /^- off: sandbox: sandbox_execute .* cannot be called; set SANDBOX_ISOLATION to /m,
    );
    expect(stdout).toMatch(/^- off: inference: inference_chat .* cannot be called; set INFERENCE_BASE_URL$/m);
    expect(stdout).toMatch(/^- off: metrics: .*; set METRICS_PORT$/m);
  });
});

describe("serve", () => {
  it("serve logs a warning about a superuser, not about a separate role", async () => {
    const serve = (settings: Record<string, string>) => instances.serve(settings);
    const [mighty, bound] = await Promise.all([serve(asSuperuser()), serve(ground.settings)]);
    await expect.poll(() => mighty.log()).toMatch(WARNING);
    expect(bound.log()).not.toMatch(/superuser|owns the tables|only endpoint/);
  });

  it("serve logs a warning when a single endpoint decides", async () => {
    const remote = await instances.serve(asRemote());
    await expect.poll(() => remote.log()).toMatch(ALONE);
  });
});
