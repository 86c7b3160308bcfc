import { chmod, mkdtemp, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import process from "node:process";
import type { TestProject } from "vitest/node";
import { buildConsoleIfOlder } from "../../src/dev/console-build/index.ts";
import { startEmbeddedPostgres } from "../../src/dev/embedded-postgres/index.ts";
import { createTemplate, dropTemplate } from "./template.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** Superuser's connection string of this run's server; a test creates its own database. */
    postgresUrl: string;
  }
}

/**
 * Starts one PostgreSQL for the whole run, in a temporary folder, and builds the console if it is outdated.
 * TEST_POSTGRES names another server to use, as a superuser.
 */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const given = process.env["TEST_POSTGRES"];
  if (given) {
    project.provide("postgresUrl", given);
    await createTemplate(given);
    return () => dropTemplate(given);
  }
  const dataDir = await mkdtemp(path.join(process.env["TEST_DATABASES"] ?? os.tmpdir(), "toolgate-test-"));
  await chmod(dataDir, 0o755); // as root, the server's account has to get in
  const remove = () => rm(dataDir, { recursive: true, force: true });
  try {
    const [postgres] = await Promise.all([
      startEmbeddedPostgres({ dataDir, settings: { max_connections: "200" } }),
      buildConsoleIfOlder((line) => process.stdout.write(`${line}\n`)),
    ]);
    project.provide("postgresUrl", postgres.url);
    await createTemplate(postgres.url);
    return async () => {
      await postgres.stop();
      await remove();
    };
  } catch (error) {
    await remove();
    throw error;
  }
}
