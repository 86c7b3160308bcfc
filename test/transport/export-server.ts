import { createServer } from "node:http";
import { newCaller } from "../app/context.ts";
import { testRequestIds } from "./test-request-ids.ts";
import { DEFAULT_SCOPES } from "../../src/domain/accounts/scope.ts";
import { ToolgateError } from "../../src/domain/core/errors.ts";
import { ExportHandler, type MinimumRate } from "../../src/transport/exports/export-handler.ts";
import type { ExportFile } from "../../src/transport/exports/export-file.ts";
import { listen } from "../support/servers.ts";

/** The export handler on its own server; authenticates every request as that account. */
export async function serveExports(
  accountId: string,
  files: readonly ExportFile[],
  minimumRate?: MinimumRate,
) {
  const logged: unknown[] = [];
  const caller = newCaller({ accountId, scopes: new Set(DEFAULT_SCOPES) });
  const handler = new ExportHandler({
    files,
    authenticator: { authenticate: async () => ({ caller, rate: undefined }) },
    requestIds: testRequestIds(),
    failed: (error) => {
      logged.push(error);
      const known = error instanceof ToolgateError ? error : new ToolgateError("INTERNAL", "failed");
      return { status: known.status, json: { code: known.code, message: known.message } };
    },
    ...(minimumRate && { minimumRate }),
  });
  const server = createServer((request, response) => handler.handle(request, response));
  const port = await listen(server);
  return {
    handler,
    logged,
    port,
    get: (path: string, init?: RequestInit) => fetch(`http://127.0.0.1:${port}${path}`, init),
    async close() {
      server.closeAllConnections();
      server.close();
      await handler.idle();
    },
  };
}
