import { Code, ConnectError, type Interceptor } from "@connectrpc/connect";
import { createConnectQueryKey } from "@connectrpc/connect-query";
import { createConnectTransport } from "@connectrpc/connect-web";
import { QueryClient } from "@tanstack/react-query";
import { SessionService } from "#gen/toolgate/console/v1/session_service_pb.ts";

/** Where the answers of all pages are kept while the page is open. */
export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 5_000,
      retry: (failures, error) => failures < 2 && isTransient(error),
    },
    mutations: { retry: false },
  },
});

/** A session that has ended is found out by whatever asks next: the page then asks for a new sign-in. */
const endOfSession: Interceptor = (next) => async (request) => {
  try {
    return await next(request);
  } catch (error) {
    if (isUnauthenticated(error) && request.service.typeName !== SessionService.typeName)
      void queryClient.resetQueries({ queryKey: sessionKey });
    throw error;
  }
};

/** The console's door: the cookie goes along, reads are GET. */
export const transport = createConnectTransport({
  baseUrl: `${location.origin}/console/rpc`,
  useHttpGet: true,
  interceptors: [endOfSession],
  fetch: (input, init) => fetch(input, { ...init, credentials: "same-origin" }),
});

/** Under which key the answer to "who is signed in?" is kept. */
export const sessionKey = createConnectQueryKey({
  schema: SessionService.method.getSession,
  transport,
  input: {},
  cardinality: "finite",
});

/** Forgets whatever was seen by the one who was signed in, then asks again who is. */
export async function forgetAll(): Promise<void> {
  queryClient.clear();
  await queryClient.resetQueries({ queryKey: sessionKey });
}

function isUnauthenticated(error: unknown): boolean {
  return ConnectError.from(error).code === Code.Unauthenticated;
}

function isTransient(error: unknown): boolean {
  return [Code.Unavailable, Code.Unknown, Code.DeadlineExceeded].includes(ConnectError.from(error).code);
}
