import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { parseEnv } from "node:util";
import { expect, it } from "vitest";
import { parse } from "yaml";
import { z } from "zod";
import { readConfig } from "../../src/config/config.ts";
import { SECRET_SETTINGS, settings } from "../../src/config/settings.ts";

const FILE = "deploy/compose.yaml";
const TEXT = readFileSync(FILE, "utf8");
const EXAMPLE = readFileSync("deploy/.env.example", "utf8");

const service = z.object({
  image: z.string(),
  command: z.array(z.string()).optional(),
  environment: z.record(z.string(), z.string()).default({}),
  secrets: z.array(z.string()).default([]),
  volumes: z.array(z.string()).default([]),
  networks: z.array(z.string()),
  healthcheck: z.object({ test: z.array(z.string()).optional(), disable: z.boolean().optional() }),
  depends_on: z.record(z.string(), z.object({ condition: z.string() })).default({}),
  read_only: z.boolean().default(false),
  cap_drop: z.array(z.string()).default([]),
});
const { services, secrets } = z
  .object({
    services: z.record(z.string(), service),
    secrets: z.record(z.string(), z.object({ file: z.string() })),
  })
  .parse(parse(TEXT, { merge: true }));
const { migrate, haproxy, postgres, ...others } = services;
const gateways = [others["gateway-a"]!, others["gateway-b"]!];

/** The file with the values of an environment. */
const filled = (text: string, environment: Record<string, string>) =>
  text.replaceAll(/\$\{(\w+)(?::[?-]([^}]*))?\}/g, (_, name: string, more = "") => environment[name] ?? more);

it("gives the gateways and the migration only settings that exist", () => {
  for (const { environment } of [...gateways, migrate!]) {
    const names = Object.keys(environment).map((name) => name.replace(/_FILE$/, ""));
    expect(names.filter((name) => !(name in settings))).toEqual([]);
  }
});

it("holds no secret: each is a file that the example creates and the service may read", () => {
  for (const { environment, secrets: granted } of Object.values(services)) {
    for (const [name, value] of Object.entries(environment)) {
      expect(SECRET_SETTINGS.has(name), name).toBe(false);
      if (!name.endsWith("_FILE")) continue;
      expect(granted, name).toContain(path.basename(value));
      expect(path.dirname(value)).toBe("/run/secrets");
    }
    expect(granted.filter((name) => !(name in secrets))).toEqual([]);
  }
  for (const { file } of Object.values(secrets)) {
    expect(path.dirname(file)).toBe("./secrets");
    expect(TEXT, file).toContain(`> ${file.slice(2)}\n`);
  }
  expect(readFileSync(".gitignore", "utf8")).toMatch(/^deploy\/secrets\/$/m);
});

it("names in .env.example, without a value, exactly the settings that have no default", () => {
  const required = new Set([...TEXT.matchAll(/\$\{(\w+):\?/g)].map(([, name]) => name));
  expect(parseEnv(EXAMPLE)).toEqual(Object.fromEntries([...required].map((name) => [name, ""])));
  const optional = new Set(
    [...TEXT.matchAll(/\$\{(\w+):-([^}]*)\}/g)].map(([, name, value]) => `${name}=${value}`),
  );
  expect(new Set([...EXAMPLE.matchAll(/^#(\w+=.*)$/gm)].map(([, line]) => line))).toEqual(optional);
});

it("gives a gateway that is filled in a valid configuration", () => {
  const values = {
    TREASURY_OWNER: "11111111111111111111111111111111",
    PUBLIC_URL: "https://gateway.example",
  };
  for (const { environment } of gateways) {
    const given = Object.entries(environment).filter(([name]) => !name.endsWith("_FILE"));
    const config = readConfig(
      Object.fromEntries(given.map(([name, value]) => [name, filled(value, values)])),
    );
    expect(config).toMatchObject({ ...values, TRUSTED_PROXY_HOPS: 1, METRICS_HOST: "0.0.0.0" });
  }
});

it("starts the gateways after the migration, and the proxy after both", () => {
  expect(migrate!.command).toEqual(["migrate", "--grant-to", "toolgate_serving"]);
  expect(migrate!.depends_on).toEqual({ postgres: { condition: "service_healthy" } });
  for (const gateway of gateways)
    expect(gateway.depends_on).toEqual({ migrate: { condition: "service_completed_successfully" } });
  const healthy = { condition: "service_healthy" };
  expect(haproxy!.depends_on).toEqual({ "gateway-a": healthy, "gateway-b": healthy });
  expect(readFileSync("deploy/compose/serving-role.sql", "utf8")).toContain("create role toolgate_serving ");
});

it("checks the health of each service, and restricts all but PostgreSQL", () => {
  for (const [name, { healthcheck, read_only: readOnly, cap_drop: dropped, image }] of Object.entries(
    services,
  )) {
    expect(healthcheck.disable === true || (healthcheck.test?.length ?? 0) > 1, name).toBe(true);
    expect(image, name).toMatch(/^\$\{[A-Z]+_IMAGE:-[^}]+:[^}]+\}$/);
    if (name !== "postgres")
      expect({ readOnly, dropped }, name).toEqual({ readOnly: true, dropped: ["ALL"] });
  }
  expect(postgres!.networks).toEqual(["database"]);
});

it("mounts files that exist", () => {
  const mounted = Object.values(services).flatMap(({ volumes }) =>
    volumes.map((volume) => volume.split(":")[0]!),
  );
  const files = mounted.filter((source) => source.startsWith("./"));
  expect(files).toHaveLength(4);
  expect(files.filter((file) => !existsSync(path.join("deploy", file)))).toEqual([]);
});

it("points HAProxy and Prometheus at the ports of the gateways", ({ skip }) => {
  const names = ["gateway-a", "gateway-b"];
  const { environment } = haproxy!;
  const ports = (setting: string) =>
    gateways.map((gateway, at) => `${names[at]}:${gateway.environment[setting]}`);
  expect([environment["HTTP_A"], environment["HTTP_B"]]).toEqual(ports("PORT"));
  expect([environment["GRPC_A"], environment["GRPC_B"]]).toEqual(ports("GRPC_PORT"));
  expect(parse(readFileSync("deploy/compose/prometheus.yaml", "utf8"))).toMatchObject({
    scrape_configs: [{ static_configs: [{ targets: ports("METRICS_PORT") }] }],
  });
  const config = readFileSync("deploy/haproxy/haproxy.cfg", "utf8");
  const variables = [...config.matchAll(/\$\{(\w+)-/g)].map(([, name]) => name);
  expect(new Set(variables)).toEqual(new Set(Object.keys(environment)));
  const { status, stdout, stderr, error } = spawnSync("haproxy", ["-c", "-f", "deploy/haproxy/haproxy.cfg"], {
    env: { PATH: `${process.env["PATH"]}:/usr/sbin`, ...environment },
    encoding: "utf8",
  });
  if (error) return skip("haproxy is not installed");
  expect(status, stdout + stderr).toBe(0);
});

it("is accepted by docker compose", ({ skip }) => {
  // Debian's podman-compose knows no `config`.
  const programs = [["docker", "compose"], ["docker-compose"]] as const;
  const [program, ...first] =
    programs.find(([name, ...args]) => spawnSync(name, [...args, "version"]).status === 0) ?? [];
  if (program === undefined) return skip("docker compose is not installed");
  const { status, stdout, stderr } = spawnSync(program, [...first, "-f", FILE, "config"], {
    env: { ...process.env, TREASURY_OWNER: "1".repeat(32), PUBLIC_URL: "https://gateway.example" },
    encoding: "utf8",
  });
  expect(status, stdout + stderr).toBe(0);
});
