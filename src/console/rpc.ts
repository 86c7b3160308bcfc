import { create, isMessage, type MessageInitShape } from "@bufbuild/protobuf";
import { Code, ConnectError, createClient, type Interceptor } from "@connectrpc/connect";
import { createConnectQueryKey, useQuery } from "@connectrpc/connect-query";
import { createConnectTransport } from "@connectrpc/connect-web";
import { hashKey, QueryClient } from "@tanstack/react-query";
import {
  GetSessionResponseSchema,
  SessionService,
  type GetSessionResponse,
} from "#gen/toolgate/console/v1/session_service_pb.ts";
import { runSessionEndHandlers } from "./session-end.ts";
import { isUnreachable } from "./unreachable.ts";
import { ToolService } from "#gen/toolgate/v1/tool_service_pb.ts";

/** Cache of all queries. */
export const queryClient = new QueryClient({
  defaultOptions: {
    // A local gateway is reachable without a network, so always send requests.
    queries: {
      networkMode: "always",
      // Off by default in this network mode.
      refetchOnReconnect: true,
      staleTime: 5_000,
      retry: (failures, error) => failures < 2 && isTransient(error),
    },
    mutations: { networkMode: "always", retry: false },
  },
});

/** Methods that work without a session: their errors do not end one. */
const SIGN_IN_METHODS: ReadonlySet<unknown> = new Set([
  SessionService.method.beginSignIn,
  SessionService.method.buildSignInTransaction,
  SessionService.method.signIn,
]);

let signingOut = false;

/** While true, requests are rejected in the browser. */
export function setSigningOut(value: boolean): void {
  signingOut = value;
}

/** Rejects requests without a session: a page may render once more after sign-out. */
const requireSession: Interceptor = (next) => (request) => {
  if (request.service.typeName !== SessionService.typeName && (signingOut || !isSignedIn()))
    throw new ConnectError("the session has ended", Code.Canceled);
  return next(request);
};

/** Whether the session ended without a sign-out. */
let expired = false;

let sessionVersion = 0;

/** Ends the session on an unauthenticated response, unless the request belongs to an earlier session. */
const detectExpiredSession: Interceptor = (next) => async (request) => {
  const asked = sessionVersion;
  const expire = () => {
    if (asked !== sessionVersion) return;
    expired = true;
    changeSession({});
  };
  try {
    const response = await next(request);
    const isGone = isMessage(response.message, GetSessionResponseSchema) && !response.message.session;
    if (isGone && !signingOut && isSignedIn()) expire();
    return response;
  } catch (error) {
    if (isUnauthenticated(error) && !SIGN_IN_METHODS.has(request.method)) expire();
    throw error;
  }
};

function isSignedIn(): boolean {
  return queryClient.getQueryData<GetSessionResponse>(sessionKey)?.session !== undefined;
}

/** Transport of the console API: sends the cookie, reads by GET. */
export const transport = createConnectTransport({
  baseUrl: `${location.origin}/console/rpc`,
  useHttpGet: true,
  interceptors: [requireSession, detectExpiredSession],
  fetch: (input, init) => send(input, { ...init, credentials: "same-origin" }),
});

/** Longest address that servers and proxies are sure to accept, bytes. */
const MAX_ADDRESS = 4_000;

/** Sends a request; a read whose message is too long for an address, such as a document, goes by POST. */
function send(input: RequestInfo | URL, init: RequestInit): Promise<Response> {
  const url = input instanceof Request ? undefined : new URL(input);
  const message = url?.searchParams.get("message");
  if (!url || url.href.length <= MAX_ADDRESS || typeof message !== "string") return fetch(input, init);
  const headers = new Headers(init.headers);
  headers.set("Content-Type", "application/json");
  headers.set("Connect-Protocol-Version", "1");
  return fetch(url.origin + url.pathname, { ...init, method: "POST", headers, body: message });
}

const sessionKey = createConnectQueryKey({
  schema: SessionService.method.getSession,
  transport,
  input: {},
  cardinality: "finite",
});

// The page was sent with the sign-in page in it, so the session is asked for while that is shown.
if (document.querySelector("#root > .sign-in"))
  queryClient.setQueryData(sessionKey, create(GetSessionResponseSchema), { updatedAt: 0 });

/** Switches to another session, or to none, and clears all cached data of the previous one. */
export function changeSession(now: MessageInitShape<typeof GetSessionResponseSchema>): void {
  sessionVersion++;
  signingOut = false;
  queryClient.setQueryData(sessionKey, create(GetSessionResponseSchema, now));
  queryClient.removeQueries({ predicate: ({ queryHash }) => queryHash !== hashKey(sessionKey) });
  queryClient.getMutationCache().clear();
  runSessionEndHandlers();
  if (now.session) expired = false;
}

/** Switches to the session of the cookie if it is another one. */
export async function findSession(): Promise<void> {
  const now = await createClient(SessionService, transport).getSession({});
  const before = queryClient.getQueryData<GetSessionResponse>(sessionKey);
  if (now.session?.sessionId !== before?.session?.sessionId) changeSession(now);
}

export function hasSessionExpired(): boolean {
  return expired;
}

function isUnauthenticated(error: unknown): boolean {
  return ConnectError.from(error).code === Code.Unauthenticated;
}

function isTransient(error: unknown): boolean {
  const { code } = ConnectError.from(error);
  return isUnreachable(error) || code === Code.Unavailable || code === Code.DeadlineExceeded;
}

/** Transport for public methods: sends no cookie. */
const publicTransport = createConnectTransport({
  baseUrl: location.origin,
  useHttpGet: true,
  fetch: (input, init) => send(input, { ...init, credentials: "omit" }),
});

/** Queries the public tool catalogue with its prices; cached for five minutes. */
export function useCatalogue() {
  return useQuery(ToolService.method.getCapabilities, {}, { transport: publicTransport, staleTime: 300_000 });
}
