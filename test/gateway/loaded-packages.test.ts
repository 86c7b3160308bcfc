import { execFile } from "node:child_process";
import path from "node:path";
import process from "node:process";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { ROOT } from "../tooling/command.ts";

/** Packages for some commands, settings or rare requests only. */
const RARE = [
  "aws4fetch",
  "hyparquet",
  "hyparquet-writer",
  "@mikro-orm/core",
  "@mikro-orm/migrations",
  "@mikro-orm/postgresql",
  "@solana/spl-token",
  "@solana/wallet-standard-util",
  "@solana/web3.js",
  "jose",
  "oidc-provider",
  "openai",
  "@opentelemetry/core",
  "@opentelemetry/sdk-trace",
  "@kubernetes/client-node",
  "@modelcontextprotocol/client",
  "@apidevtools/swagger-parser",
  "ajv",
  "prom-client",
  "undici",
];

/** Imports what `serve` imports and prints the loaded packages. */
const PROGRAM = /* js */ `
  import { registerHooks } from "node:module";
  const packages = new Set();
  registerHooks({
    load(url, context, next) {
      const [, name] = /.*\\/node_modules\\/((?:@[^/]+\\/)?[^/]+)/.exec(url) ?? [];
      if (name !== undefined) packages.add(name);
      return next(url, context);
    },
  });
  await Promise.all(["start-checks.ts", "gateway.ts"].map((file) => import(new URL(file, process.argv[1]))));
  process.stdout.write([...packages].join("\\n"));
  process.exit();
`;

it("loads only packages that an idle gateway uses", async () => {
  const source = pathToFileURL(path.join(ROOT, "src/")).href;
  const { stdout } = await promisify(execFile)(process.execPath, [
    "--input-type=module",
    "--eval",
    PROGRAM,
    source,
  ]);
  const loaded = stdout.split("\n");
  expect(loaded, "what it does need").toEqual(expect.arrayContaining(["pg", "@grpc/grpc-js", "zod"]));
  expect(loaded.filter((name) => RARE.includes(name))).toEqual([]);
});
