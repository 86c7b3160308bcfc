import { createServer } from "node:http";
import {
  Client,
  type OAuthClientProvider,
  type OAuthDiscoveryState,
  StreamableHTTPClientTransport,
  UnauthorizedError,
} from "@modelcontextprotocol/client";
import { onTestFinished } from "vitest";
import { secret } from "../support/record.ts";
import { closeServer, listen } from "../support/servers.ts";
import { until } from "../support/until.ts";

/** An MCP host that knows only the address of a server: the official client with its OAuth. */
export interface McpHost {
  /** Address that the host opens in the person's browser. */
  readonly authorizationUrl: string;
  /** Parameters of the redirect back to the host. */
  readonly answer: Promise<URLSearchParams>;
  /** Exchanges the code of the answer and connects. @returns the access token */
  finish(): Promise<string>;
  call(name: string, args: Record<string, unknown>): ReturnType<Client["callTool"]>;
  /** Returns the address that the host opens next in the person's browser, for a call. */
  opened(): Promise<string>;
}

/** Connects as far as to the authorization, and listens for its answer on a loopback address. */
export async function openMcpHost(url: string, clientName: string): Promise<McpHost> {
  const answered = Promise.withResolvers<URLSearchParams>();
  const server = createServer((request, response) => {
    response.setHeader("content-type", "text/html");
    response.end('<!doctype html><link rel="icon" href="data:,"><h1>Back in the host</h1>');
    answered.resolve(new URL(request.url ?? "/", url).searchParams);
  });
  const redirectUrl = `http://127.0.0.1:${await listen(server)}/callback`;
  onTestFinished(() => closeServer(server));
  const { provider, opened } = providerOf(redirectUrl, clientName);
  const transport = new StreamableHTTPClientTransport(new URL(url), { authProvider: provider });
  const refused: unknown = await newClient()
    .connect(transport)
    .catch((error: unknown) => error);
  if (!(refused instanceof UnauthorizedError)) throw new Error("the server did not ask for authorization");
  const client = newClient();
  const opening: string[] = [];
  client.setRequestHandler("elicitation/create", async ({ params }) => {
    if ("url" in params) opening.push(params.url);
    return { action: "accept" };
  });
  return {
    authorizationUrl: await opened,
    answer: answered.promise,
    async finish() {
      await transport.finishAuth(await answered.promise);
      await client.connect(new StreamableHTTPClientTransport(new URL(url), { authProvider: provider }));
      onTestFinished(() => client.close());
      return secret("an access token", (await provider.tokens())?.access_token ?? "");
    },
    call: (name, args) => client.callTool({ name, arguments: args }),
    opened: () => until(() => opening.shift()),
  };
}

const newClient = () =>
  new Client(
    { name: "host", version: "1.0.0" },
    { capabilities: { elicitation: { url: {} } }, versionNegotiation: { mode: "auto" } },
  );

/** Keeps what the client stores in memory. */
function providerOf(redirectUrl: string, clientName: string) {
  const opened = Promise.withResolvers<string>();
  let client: Awaited<ReturnType<OAuthClientProvider["clientInformation"]>>;
  let tokens: Awaited<ReturnType<OAuthClientProvider["tokens"]>>;
  let discovery: OAuthDiscoveryState | undefined;
  let verifier = "";
  const provider: OAuthClientProvider = {
    redirectUrl,
    clientMetadata: {
      client_name: clientName,
      redirect_uris: [redirectUrl],
      token_endpoint_auth_method: "none",
    },
    clientInformation: () => client,
    saveClientInformation: (information) => void (client = information),
    tokens: () => tokens,
    saveTokens: (saved) => void (tokens = saved),
    redirectToAuthorization: ({ href }) => opened.resolve(href),
    saveDiscoveryState: (state) => void (discovery = state),
    discoveryState: () => discovery,
    saveCodeVerifier: (saved) => void (verifier = saved),
    codeVerifier: () => verifier,
  };
  return { provider, opened: opened.promise };
}
