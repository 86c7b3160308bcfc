import { useMutation, useQuery } from "@connectrpc/connect-query";
import { createContext, use, type ReactNode } from "react";
import {
  SessionService,
  type Installation,
  type Session,
} from "#gen/toolgate/console/v1/session_service_pb.ts";
import { changeSession, queryClient, setSigningOut } from "./rpc.ts";

/** Who is signed in, and where. */
export interface SignedIn {
  session: Session;
  installation: Installation;
}

const SignedInContext = createContext<SignedIn | undefined>(undefined);

/** Hands who is signed in to all that is shown below. */
export function SignedInProvider({ value, children }: { value: SignedIn; children: ReactNode }) {
  return <SignedInContext value={value}>{children}</SignedInContext>;
}

/** Who is signed in; pages are only shown while somebody is. */
export function useSignedIn(): SignedIn {
  const signedIn = use(SignedInContext);
  if (!signedIn) throw new Error("nobody is signed in");
  return signedIn;
}

/** Asks who is signed in, and again when the page is looked at after a while. */
export function useSessionQuery() {
  return useQuery(SessionService.method.getSession, {}, { staleTime: 60_000 });
}

/**
 * What goes with the end of a session: what is still being asked is not waited for, for it would be refused, and all that was shown is
 * forgotten.
 */
const signOutOptions = {
  onMutate: () => {
    setSigningOut(true);
    return queryClient.cancelQueries();
  },
  onSuccess: () => changeSession({}),
  onError: () => {
    setSigningOut(false);
    return queryClient.invalidateQueries();
  },
};

/** Ends the own session. */
export function useSignOut() {
  return useMutation(SessionService.method.signOut, signOutOptions);
}

/** Ends all sessions of the account. */
export function useSignOutEverywhere() {
  return useMutation(SessionService.method.signOutEverywhere, signOutOptions);
}
