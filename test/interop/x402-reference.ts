import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import {
  x402HTTPResourceServer,
  x402ResourceServer,
  type FacilitatorClient,
  type HTTPAdapter,
} from "@x402/core/server";
import { ExactSvmScheme } from "@x402/svm/exact/server";
import { listen } from "../support/servers.ts";

/** The official resource server, which sells one path; its facilitator is the test's. */
export interface ReferenceServer {
  readonly baseUrl: string;
  /** Error of the next settlements; undefined: they succeed. */
  failure: string | undefined;
  close(): void;
}

/** What it sells: the members of our offer that the specification fixes. */
export interface ReferenceRoute {
  readonly path: string;
  readonly description: string;
  readonly network: `${string}:${string}`;
  readonly amount: string;
  readonly asset: string;
  readonly payTo: string;
  readonly feePayer: string;
  readonly payer: string;
}

/** Starts it on a free port of 127.0.0.1. */
export async function startReferenceServer(route: ReferenceRoute): Promise<ReferenceServer> {
  const { network, asset, amount, payTo, feePayer, payer, path, description } = route;
  const facilitator: FacilitatorClient = {
    verify: async () => ({ isValid: true, payer }),
    settle: async () =>
      reference.failure === undefined
        ? { success: true, transaction: "1".repeat(64), network, payer }
        : { success: false, errorReason: reference.failure, transaction: "", network, payer },
    getSupported: async () => ({
      kinds: [{ x402Version: 2, scheme: "exact", network, extra: { feePayer } }],
      extensions: [],
      signers: {},
    }),
  };
  const core = new x402ResourceServer(facilitator).register(network, new ExactSvmScheme());
  const http = new x402HTTPResourceServer(core, {
    [`POST ${path}`]: {
      accepts: { scheme: "exact", network, payTo, price: { asset, amount }, maxTimeoutSeconds: 60 },
      description,
      mimeType: "application/json",
    },
  });
  await http.initialize();
  const server = createServer((request, response) => void serve(request, response));

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    request.resume();
    const context = { adapter: adapterOf(request), path, method: "POST" };
    const result = await http.processHTTPRequest(context);
    const send = (status: number, headers: Record<string, string>, body: unknown) =>
      response
        .writeHead(status, { "content-type": "application/json", ...headers })
        .end(JSON.stringify(body ?? {}));
    if (result.type === "payment-error") {
      const { status, headers, body } = result.response;
      return void send(status, headers, body);
    }
    if (result.type === "no-payment-required") return void send(500, {}, {});
    const { paymentPayload, paymentRequirements } = result;
    const settled = await http.processSettlement(paymentPayload, paymentRequirements);
    if (settled.success) return void send(200, settled.headers, { ok: true });
    const { status, headers, body } = settled.response;
    send(status, { ...headers, ...settled.headers }, body);
  }
  const reference: ReferenceServer = {
    baseUrl: `http://127.0.0.1:${await listen(server)}`,
    failure: undefined,
    close: () => server.close(),
  };
  return reference;
}

function adapterOf(request: IncomingMessage): HTTPAdapter {
  const header = (name: string) => request.headers[name.toLowerCase()]?.toString();
  const url = `http://${request.headers.host}${request.url}`;
  return {
    getHeader: header,
    getMethod: () => request.method ?? "",
    getPath: () => new URL(url).pathname,
    getUrl: () => url,
    getAcceptHeader: () => header("accept") ?? "",
    getUserAgent: () => header("user-agent") ?? "",
  };
}
