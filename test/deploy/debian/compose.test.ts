import { execFileSync } from "node:child_process";
import { cpSync, readFileSync, realpathSync } from "node:fs";
import path from "node:path";
import process from "node:process";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startLocalChain, type LocalChain } from "../../../src/localchain/index.ts";
import { VERSION } from "../../../src/version.ts";
import { ROOT } from "../../tooling/command.ts";
import { copyCheckout } from "./checkout.ts";
import { HOST, LIMIT_MS, Machine, missing } from "./machine.ts";

const FILE = "deploy/compose.yaml";
const TEXT = readFileSync(path.join(ROOT, FILE), "utf8");
const SKIPPED = await missing();
const TITLE = `${FILE} on a bare Debian${SKIPPED === undefined ? "" : ` (${SKIPPED})`}`;

const COMMANDS = [...TEXT.split("\nname:", 1)[0]!.matchAll(/^# {3}(.+)$/gm)]
  .map(([, line]) => line)
  .join("\n");
/** Images by the setting that replaces them. */
const image = (setting: string) => new RegExp(`\\$\\{${setting}:-([^}]+)\\}`).exec(TEXT)?.[1];
const IMAGES = {
  node: image("NODE_IMAGE"),
  haproxy: image("HAPROXY_IMAGE"),
  prometheus: image("PROMETHEUS_IMAGE"),
  postgres: image("POSTGRES_IMAGE"),
};

describe.skipIf(SKIPPED !== undefined)(TITLE, { timeout: LIMIT_MS }, () => {
  let machine: Machine;
  let chain: LocalChain;

  beforeAll(async () => {
    chain = await startLocalChain({ port: 0 });
    machine = new Machine();
    await machine.build();
  }, LIMIT_MS);
  afterAll(async () => {
    await machine?.close();
    await chain?.close();
  }, LIMIT_MS);

  it("installs Docker", async () => {
    copyCheckout(path.join(machine.root, "opt/toolgate"));
    await machine.boot();
    await machine.paste(`
      tar --create --file=/var/tmp/debian.tar --directory=/ --one-file-system \\
        --exclude=./opt/toolgate --exclude=./var/cache/npm --exclude='./var/log/*' --exclude='./var/tmp/*' .
      apt-get update
      apt-get install --yes --no-install-recommends \\
        curl docker-buildx docker-cli docker-compose docker.io iptables openssl
      docker import /var/tmp/debian.tar debian`);
    expect(await machine.paste("systemctl is-active docker")).toBe("active\n");
  });

  it("makes the images that the file names", async () => {
    const folder = path.join(machine.root, "opt/toolgate/test/deploy/debian/images");
    const npm = execFileSync("sh", ["-c", "command -v npm"], { encoding: "utf8" }).trim();
    cpSync(process.execPath, path.join(folder, "node"));
    cpSync(path.resolve(realpathSync(npm), "../.."), path.join(folder, "npm"), { recursive: true });
    for (const [target, name] of Object.entries(IMAGES))
      expect(
        await machine.paste(`cd /opt/toolgate/test/deploy/debian/images
          docker build --quiet --file=Containerfile --target=${target} --tag=${name} .`),
      ).toMatch(/^sha256:/m);
  });

  it("builds the image of deploy/Containerfile", async () => {
    const build = "docker build --quiet --file=/opt/toolgate/deploy/Containerfile /opt/toolgate";
    expect(await machine.paste(build)).toMatch(/^sha256:/m);
  });

  it("starts by the commands at the head of the file", async () => {
    const treasury = chain.controls.createWallet({ microUsd: 0n }).publicKey.toBase58();
    await machine.paste(
      `cd /opt/toolgate\n${COMMANDS}`
        .replace("https://…,https://…", chain.url.replace("127.0.0.1", HOST))
        .replace(
          /^cp .*$/m,
          `$&\nprintf 'TREASURY_OWNER=${treasury}\nPUBLIC_URL=https://gateway.example\n' >.env`,
        ),
    );
    expect(
      await machine.paste("docker compose ps --all --filter status=exited --format '{{.Service}}'"),
    ).toBe("migrate\n");
  });

  it("runs the image as its labels say, without rights and on a read-only file system", async () => {
    const { Config } = JSON.parse(
      await machine.paste("docker image inspect --format '{{json .}}' toolgate:latest"),
    );
    expect(Config.Labels).toMatchObject({
      "org.opencontainers.image.title": "Toolgate",
      "org.opencontainers.image.version": VERSION,
    });
    expect(Config.Healthcheck.Test.join(" ")).toContain("/livez");
    const script =
      "exec 2>&1; id -u; grep -E '^Cap(Eff|Bnd)|NoNewPrivs' /proc/self/status; " +
      "touch /opt/toolgate/x /var/tmp/x; command -v npm npx corepack; true";
    const output = await machine.paste(`docker compose exec -T gateway-a sh -c "${script}"`);
    expect(output.replaceAll("\t", " ").replaceAll(/^touch: .*: Read-only file system$/gm, "read-only")).toBe(
      "10001\nCapEff: 0000000000000000\nCapBnd: 0000000000000000\nNoNewPrivs: 1\nread-only\nread-only\n",
    );
  });

  it("sells a call and answers gRPC", async () => {
    const created = await machine.paste(
      "docker compose exec -T gateway-a node src/main.ts accounts create --count 1 --usdc 1 --json",
    );
    const key = /sk-agent-[^"]+/.exec(created)?.[0] ?? expect.fail(created);
    const call = { tool: "vram_estimate", params: { model: "llama-3.1-8b" } };
    const answer = await machine.paste(
      `curl --fail --silent --show-error http://127.0.0.1:8080/v1/mcp/tools/call \\
        -H 'Authorization: Bearer ${key}' -H 'Content-Type: application/json' -d '${JSON.stringify(call)}'`,
    );
    expect(answer).toContain('"debited_usdc_microusd":1000');
    // An empty request; the answer is SERVING.
    const health = await machine.paste(
      `printf '\\0\\0\\0\\0\\0' | curl --fail --silent --http2-prior-knowledge --data-binary @- \\
        -H 'Content-Type: application/grpc' -H 'TE: trailers' \\
        http://127.0.0.1:9090/grpc.health.v1.Health/Check | base64`,
    );
    expect(health).toBe("AAAAAAIIAQ==\n");
  });

  it("keeps every service healthy, and Prometheus scrapes both", async () => {
    await machine.paste("docker compose up --detach --wait");
    const states = await machine.paste("docker compose ps --format '{{.Service}} {{.Health}}'");
    expect(states.trim().split("\n").toSorted()).toEqual(
      ["gateway-a", "gateway-b", "haproxy", "postgres", "prometheus"].map((name) => `${name} healthy`),
    );
    const query = "http://127.0.0.1:9095/api/v1/query?query=sum(up)";
    await expect.poll(() => machine.paste(`curl --silent '${query}'`)).toContain('"2"');
  });
});
