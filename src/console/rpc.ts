import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { Code, ConnectError, type Interceptor } from "@connectrpc/connect";
import { createConnectQueryKey } from "@connectrpc/connect-query";
import { createConnectTransport } from "@connectrpc/connect-web";
import { hashKey, QueryClient } from "@tanstack/react-query";
import {
  GetSessionResponseSchema,
  SessionService,
  type GetSessionResponse,
} from "#gen/toolgate/console/v1/session_service_pb.ts";
import { runSessionEndHandlers } from "./session-end.ts";

/** Where the answers of all pages are kept while the page is open. */
export const queryClient = new QueryClient({
  defaultOptions: {
    // A gateway on this machine answers without a network, too: what cannot be reached is told, and not waited for.
    queries: {
      networkMode: "always",
      staleTime: 5_000,
      retry: (failures, error) => failures < 2 && isTransient(error),
    },
    mutations: { networkMode: "always", retry: false },
  },
});

/** What is asked while nobody is signed in: what is refused there ends nothing. */
const SIGN_IN_METHODS: ReadonlySet<unknown> = new Set([
  SessionService.method.beginSignIn,
  SessionService.method.buildSignInTransaction,
  SessionService.method.signIn,
]);

/** Whether the session is being ended. */
let signingOut = false;

/** From now on, and until the page is another account's, requests of the pages are refused here. */
export function setSigningOut(value: boolean): void {
  signingOut = value;
}

/**
 * Sends what a page asks only while its session lasts. A page may render once more after it, and would ask for what
 * the gateway refuses.
 */
const requireSession: Interceptor = (next) => (request) => {
  const signedOut = queryClient.getQueryData<GetSessionResponse>(sessionKey)?.session === undefined;
  if (request.service.typeName !== SessionService.typeName && (signingOut || signedOut))
    throw new ConnectError("the session has ended", Code.Canceled);
  return next(request);
};

/** Whether the session ended without having been asked to. */
let expired = false;

/** How often the page has become somebody else's. */
let sessionVersion = 0;

/**
 * A session that has ended is found out by whatever asks next: the page then asks for a new sign-in. What was still asked for the one before
 * ends nobody's session.
 */
const detectExpiredSession: Interceptor = (next) => async (request) => {
  const asked = sessionVersion;
  try {
    return await next(request);
  } catch (error) {
    if (isUnauthenticated(error) && asked === sessionVersion && !SIGN_IN_METHODS.has(request.method)) {
      expired = true;
      changeSession({});
    }
    throw error;
  }
};

/** The console's door: the cookie goes along, reads are GET. */
export const transport = createConnectTransport({
  baseUrl: `${location.origin}/console/rpc`,
  useHttpGet: true,
  interceptors: [requireSession, detectExpiredSession],
  fetch: (input, init) => fetch(input, { ...init, credentials: "same-origin" }),
});

/** Under which key the answer to "who is signed in?" is kept. */
const sessionKey = createConnectQueryKey({
  schema: SessionService.method.getSession,
  transport,
  input: {},
  cardinality: "finite",
});

/**
 * Shows the page to somebody else: to who has signed in now, or to nobody. What the one before has seen is forgotten: answers, and what was
 * sent to get them.
 */
export function changeSession(now: MessageInitShape<typeof GetSessionResponseSchema>): void {
  sessionVersion++;
  signingOut = false;
  queryClient.setQueryData(sessionKey, create(GetSessionResponseSchema, now));
  queryClient.removeQueries({ predicate: ({ queryHash }) => queryHash !== hashKey(sessionKey) });
  queryClient.getMutationCache().clear();
  runSessionEndHandlers();
  if (now.session) expired = false;
}

/** Whether it was not the person who has ended the last session of this page. */
export function hasSessionExpired(): boolean {
  return expired;
}

function isUnauthenticated(error: unknown): boolean {
  return ConnectError.from(error).code === Code.Unauthenticated;
}

function isTransient(error: unknown): boolean {
  return [Code.Unavailable, Code.Unknown, Code.DeadlineExceeded].includes(ConnectError.from(error).code);
}
