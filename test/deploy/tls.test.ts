import { Client, credentials } from "@grpc/grpc-js";
import { execFile, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { get } from "node:http";
import { connect as connectHttp2 } from "node:http2";
import { request } from "node:https";
import { tmpdir } from "node:os";
import path from "node:path";
import process from "node:process";
import { json, text } from "node:stream/consumers";
import { connect } from "node:tls";
import { promisify } from "node:util";
import { afterAll, expect, it } from "vitest";
import { HealthCheckResponse_ServingStatus as Serving, Health } from "#gen/grpc/health/v1/health_pb.ts";
import { serverAccount } from "../../src/dev/embedded-postgres/account.ts";
import { startEmbeddedPostgres } from "../../src/dev/embedded-postgres/index.ts";
import { runToolgateHere } from "../cli/toolgate.ts";
import { openPorts } from "../instances/proxy.ts";
import { stopChild } from "../support/child.ts";
import { restartPort } from "../support/ports.ts";
import { closing } from "../support/postgres.ts";
import { missingPackages } from "../support/programs.ts";
import { startGround, startHere } from "../support/world.ts";
import { ROOT } from "../tooling/command.ts";
import { selfSigned } from "../tools/custom/grpc/certificate.ts";
import { callGrpc } from "../transport/grpc-client.ts";

/** Performs docs/guides/tls.md, with an authority on this machine in place of a public one. */

const NAME = "gateway.example";
const run = promisify(execFile);
const folder = mkdtempSync(path.join(tmpdir(), "toolgate-tls-"));
chmodSync(folder, 0o755);
const children: ChildProcess[] = [];
afterAll(async () => {
  for (const child of children) await stopChild(child);
  rmSync(folder, { recursive: true });
});
const ground = closing(await startGround());
const inFolder = (name: string) => path.join(folder, name);

function start(program: string, args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const child = spawn(program, args, { env: { PATH: PROGRAMS, ...env }, stdio: "ignore" });
  children.push(child);
  return child;
}

/** With `systemctl`, which reloads HAProxy as systemd would. */
const PROGRAMS = `${folder}:${process.env["PATH"]}:/usr/sbin`;

const ports = async (count: number) => {
  const given: number[] = [];
  while (given.length < count) given.push(await restartPort());
  return given;
};

/** Stores a new certificate, as files. */
function store(name: string, host: string) {
  const { certificate, key } = selfSigned(host);
  writeFileSync(inFolder(`${name}.pem`), Buffer.concat([certificate, key]));
  writeFileSync(inFolder(`${name}.cert`), certificate);
  writeFileSync(inFolder(`${name}.key`), key, { mode: 0o600 });
  return { TLS_CERT: inFolder(`${name}.cert`), TLS_KEY: inFolder(`${name}.key`), certificate };
}

/** An ACME authority that finds every name on this machine. @returns its directory and its root */
async function startAuthority(httpPort: number | undefined) {
  const [listen, management, dns, testing] = await ports(4);
  const own = store("authority", "localhost");
  const pebble = {
    ...{ listenAddress: `127.0.0.1:${listen}`, managementListenAddress: `127.0.0.1:${management}` },
    ...{ certificate: own.TLS_CERT, privateKey: own.TLS_KEY, httpPort, tlsPort: 1 },
  };
  writeFileSync(inFolder("pebble.json"), JSON.stringify({ pebble }));
  const off = ["-http01", "", "-https01", "", "-tlsalpn01", "", "-defaultIPv6", ""];
  const address = ["-defaultIPv4", "127.0.0.1", "-dns01", `127.0.0.1:${dns}`];
  start("pebble-challtestsrv", [...address, ...off, "-management", `127.0.0.1:${testing}`]);
  const options = ["-config", inFolder("pebble.json"), "-dnsserver", `127.0.0.1:${dns}`];
  start("pebble", options, { PEBBLE_VA_NOSLEEP: "1" });
  const root = async () => {
    const url = `https://localhost:${management}/roots/0`;
    const [answer] = await once(request(url, { ca: own.certificate, agent: false }).end(), "response");
    return text(answer);
  };
  await expect.poll(() => root().catch(() => "")).toContain("BEGIN CERTIFICATE");
  return { directory: `https://localhost:${listen}/dir`, trust: own.TLS_CERT, root: await root() };
}

/** HAProxy with the shipped files, as Debian's unit starts it. */
function startProxy(env: Readonly<Record<string, string>>): ChildProcess {
  const files = ["haproxy.cfg", "acme.cfg"].flatMap((name) => [
    "-f",
    path.join(ROOT, "deploy/haproxy", name),
  ]);
  const child = start("haproxy", ["-W", "-db", ...files], env);
  writeFileSync(inFolder("systemctl"), `#!/bin/sh\nkill -USR2 ${child.pid}\n`, { mode: 0o755 });
  return child;
}

async function fingerprint(port: number | undefined, ca: string): Promise<string> {
  const socket = connect({ host: "127.0.0.1", port, servername: NAME, ca });
  await once(socket, "secureConnect");
  const { fingerprint256 } = socket.getPeerCertificate();
  socket.destroy();
  return fingerprint256;
}

it("ends TLS at the proxy with certificates of an authority, renews them, and proves itself to a gateway", async ({
  skip,
}) => {
  const missing = missingPackages("haproxy", "pebble", "certbot").filter((name) => name !== "postgresql");
  if (missing.length > 0) return skip(`not installed: ${missing.join(", ")}`);
  const [plain, acme, http, grpc] = await ports(4);
  const own = await openPorts();
  const { certificate: _, ...settings } = store("gateway", "gateway");
  const proxy = store("proxy", "proxy");
  const gateway = await startHere({
    ...{ ...ground.settings, ...settings, TLS_CLIENT_CA: proxy.TLS_CERT, TRUSTED_PROXY_HOPS: "1" },
    ...{ ...own, PUBLIC_URL: `https://${NAME}` },
  });
  const shown = `verifyhost gateway crt ${inFolder("proxy.pem")}`;
  const toGateway = `ssl verify required ca-file ${settings.TLS_CERT} ${shown}`;
  try {
    const authority = await startAuthority(plain);
    mkdirSync(inFolder("certificates"));
    const addresses = {
      ...{ PLAIN_BIND: `127.0.0.1:${plain}`, ACME: `127.0.0.1:${acme}` },
      ...{ HTTP_BIND: `127.0.0.1:${http}`, GRPC_BIND: `127.0.0.1:${grpc}` },
      ...{ HTTP_A: `127.0.0.1:${own.PORT}`, GRPC_A: `127.0.0.1:${own.GRPC_PORT}` },
      ...{ HTTP_GATEWAYS: toGateway, GRPC_GATEWAYS: `${toGateway} alpn h2` },
    };
    const first = startProxy(addresses);
    const certbot = (...args: string[]) =>
      run(
        "certbot",
        [
          ...args,
          ...[
            "--server",
            authority.directory,
            "--config-dir",
            inFolder("acme"),
            "--work-dir",
            inFolder("work"),
          ],
          ...["--logs-dir", inFolder("logs"), "--non-interactive"],
        ],
        {
          env: {
            PATH: PROGRAMS,
            REQUESTS_CA_BUNDLE: authority.trust,
            CERTIFICATES: inFolder("certificates"),
          },
        },
      );
    const hook = ["--deploy-hook", path.join(ROOT, "deploy/haproxy/renewed.sh")];
    const order = [
      "certonly",
      "--standalone",
      "--http-01-port",
      String(acme),
      "--domain",
      NAME,
      "--agree-tos",
    ];
    await certbot(...order, "--email", "operator@gateway.example", ...hook);
    await stopChild(first);

    const certificates = `ssl crt ${inFolder("certificates")}`;
    startProxy({
      ...addresses,
      ...{ HTTP_TLS: `${certificates} alpn h2,http/1.1`, GRPC_TLS: `${certificates} alpn h2` },
    });
    const ca = authority.root;
    const serves = () => fingerprint(http, ca).catch(() => "");
    await expect.poll(serves).not.toBe("");
    const ask = async () => {
      const url = `https://127.0.0.1:${http}/health`;
      const options = { ca, servername: NAME, headers: { host: NAME }, agent: false };
      const [answer] = await once(request(url, options).end(), "response");
      return json(answer);
    };
    await expect.poll(() => ask().catch(() => undefined)).toMatchObject({ status: "ok" });

    const session = connectHttp2(`https://127.0.0.1:${http}`, { ca, servername: NAME });
    const [headers] = await once(session.request({ ":path": "/livez", ":authority": NAME }), "response");
    expect(headers[":status"]).toBe(200);
    session.destroy();
    const client = new Client(`127.0.0.1:${grpc}`, credentials.createSsl(Buffer.from(ca)), {
      "grpc.ssl_target_name_override": NAME,
    });
    expect((await callGrpc(client, Health.method.check, {})).message.status).toBe(Serving.SERVING);
    client.close();
    const [moved] = await once(
      get(`http://127.0.0.1:${plain}/health`, { headers: { host: NAME } }),
      "response",
    );
    expect([moved.statusCode, moved.headers.location]).toEqual([308, `https://${NAME}/health`]);

    const before = await serves();
    await certbot("renew", "--force-renewal", "--no-random-sleep-on-renew");
    await expect.poll(serves).not.toBe(before);
    await expect.poll(() => ask().catch(() => undefined)).toMatchObject({ status: "ok" });
  } finally {
    await gateway.close();
  }
});

it("checks the certificate of PostgreSQL with sslmode=verify-full", async () => {
  const server = store("postgresql", "localhost");
  const other = store("other", "localhost");
  const account = await serverAccount(inFolder("data"));
  if (account)
    for (const file of [server.TLS_CERT, server.TLS_KEY]) chownSync(file, account.uid, account.gid);
  const ssl = { ssl: "on", ssl_cert_file: server.TLS_CERT, ssl_key_file: server.TLS_KEY };
  const postgres = await startEmbeddedPostgres({ dataDir: inFolder("data"), settings: ssl });
  const urlWith = (ca: string) =>
    `${postgres.url.replace("127.0.0.1", "localhost")}?sslmode=verify-full&sslrootcert=${ca}`;
  const migrate = (ca: string) => runToolgateHere({ DATABASE_URL: urlWith(ca) }, ["migrate"]);
  try {
    expect(await migrate(other.TLS_CERT)).toMatchObject({ code: 1, stderr: /self-signed|verify/ });
    expect(await migrate(server.TLS_CERT)).toMatchObject({ code: 0 });
    const gateway = await startHere({ ...ground.settings, DATABASE_URL: urlWith(server.TLS_CERT) });
    expect(await (await fetch(`${gateway.baseUrl}/health`)).json()).toMatchObject({ status: "ok" });
    await gateway.close();
  } finally {
    await postgres.stop();
  }
});
