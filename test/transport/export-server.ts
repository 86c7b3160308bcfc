import { once } from "node:events";
import { createServer } from "node:http";
import { testRequestIds } from "./test-request-ids.ts";
import { DEFAULT_SCOPES } from "../../src/domain/accounts/scope.ts";
import { ToolgateError } from "../../src/domain/core/errors.ts";
import { ExportHandler, type MinimumRate } from "../../src/transport/exports/export-handler.ts";
import type { ExportFile } from "../../src/transport/exports/export-file.ts";

/** The export handler on its own server; authenticates every request as that account. */
export async function serveExports(
  accountId: string,
  files: readonly ExportFile[],
  minimumRate?: MinimumRate,
) {
  const logged: unknown[] = [];
  const caller = {
    keyId: "ses_test",
    accountId,
    scopes: new Set(DEFAULT_SCOPES),
    tier: { ratePerMinute: 60, burst: 10 },
    accountTier: { ratePerMinute: 600, burst: 100 },
    operator: false,
    limits: undefined,
    budgeted: false,
    limitsVersion: 0,
    blockedReason: undefined,
  };
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
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const port = typeof address === "object" && address ? address.port : 0;
  return {
    handler,
    /** Logged failures. */
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
