import { useMutation, useQuery } from "@connectrpc/connect-query";
import { createContext, use, type ReactNode } from "react";
import {
  SessionService,
  type Installation,
  type Session,
} from "#gen/toolgate/console/v1/session_service_pb.ts";
import { changeSession, findSession, queryClient, setSigningOut } from "./rpc.ts";

export interface SignedIn {
  session: Session;
  installation: Installation;
}

const SignedInContext = createContext<SignedIn | undefined>(undefined);

export function SignedInProvider({ value, children }: { value: SignedIn; children: ReactNode }) {
  return <SignedInContext value={value}>{children}</SignedInContext>;
}

/** Returns the session. @throws Error outside of SignedInProvider */
export function useSignedIn(): SignedIn {
  const signedIn = use(SignedInContext);
  if (!signedIn) throw new Error("useSignedIn was called outside of SignedInProvider");
  return signedIn;
}

/** Returns the session; undefined on pages that are shown without one. */
export function useOptionalSignedIn(): SignedIn | undefined {
  return use(SignedInContext);
}

/** Queries the current session. A poll finds a block of the account. */
export function useSessionQuery() {
  return useQuery(SessionService.method.getSession, {}, { staleTime: 60_000, refetchInterval: 30_000 });
}

/** Returns why keys and deposits cannot be created; undefined if they can. */
export function useBlockedHint(): string | undefined {
  const { session } = useSignedIn();
  return session.blockedReason === undefined ? undefined : "Not possible: your account is blocked.";
}

// All tabs share the session's cookie. A message says that a session began, or that all ended.
const channel = new BroadcastChannel("toolgate-session");
channel.addEventListener("message", ({ data }) => {
  // The next poll finds it too.
  if (data === "began") findSession().catch(() => {});
  else changeSession({});
});

/** Notifies the other tabs of a sign-in or sign-out. */
export function announceSession(what: "began" | "ended"): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a channel has one origin
  channel.postMessage(what);
}

/** Cancels running requests, which would be rejected, and clears all data afterwards. */
const signOutOptions = {
  onMutate: () => {
    setSigningOut(true);
    return queryClient.cancelQueries();
  },
  onSuccess: () => {
    changeSession({});
    announceSession("ended");
  },
  onError: () => {
    setSigningOut(false);
    return queryClient.invalidateQueries();
  },
};

export function useSignOut() {
  return useMutation(SessionService.method.signOut, signOutOptions);
}

export function useSignOutEverywhere() {
  return useMutation(SessionService.method.signOutEverywhere, signOutOptions);
}
