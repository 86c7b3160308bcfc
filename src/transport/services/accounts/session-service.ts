import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import {
  type InstallationSchema,
  type Session as SessionMessage,
  SessionSchema,
  SessionService,
  type SignInRequest,
} from "#gen/toolgate/console/v1/session_service_pb.ts";
import type { Session, Sessions } from "../../../app/accounts/authenticator.ts";
import type { SignIn, SignInProof } from "../../../app/accounts/sign-in.ts";
import { ToolgateError } from "../../../domain/core/errors.ts";
import { SESSION_MS } from "../../../domain/accounts/sign-in.ts";
import type { ConsoleOrigin } from "../../console-server/console-origin.ts";
import { setCookieHeader, clearCookieHeader } from "../../console-server/cookie.ts";
import type { SignInLimits } from "../../console-server/sign-in-limits.ts";
import type { ClientInfo } from "../../authentication.ts";
import type { RequestContext } from "../../request-context.ts";
import { bind, KEY, type ServiceBinding } from "../../endpoint.ts";

/** Characters of the User-Agent header that are stored. */
const USER_AGENT = 200;

export interface SessionServiceDeps {
  readonly signIn: SignIn;
  readonly sessions: Sessions;
  readonly origin: ConsoleOrigin;
  readonly limits: SignInLimits;
  /** The page's data about this installation. */
  readonly installation: () => MessageInitShape<typeof InstallationSchema>;
}

/** Sign-in with a wallet, and sessions. */
export function sessionService(deps: SessionServiceDeps): ServiceBinding {
  const { signIn, sessions, origin, limits, installation } = deps;
  const demandChallenge = (context: RequestContext) => {
    origin.requireCookie();
    limits.requireChallenge(clientOf(context));
  };
  return bind(SessionService, KEY, {
    beginSignIn: {
      key: "none",
      async handle(_request, context) {
        demandChallenge(context);
        return { challenge: await signIn.createChallenge() };
      },
    },
    buildSignInTransaction: {
      key: "none",
      async handle({ nonce, address }, context) {
        demandChallenge(context);
        return { transaction: await signIn.buildTransaction(nonce, address) };
      },
    },
    signIn: {
      key: "none",
      async handle(request, context) {
        const form = origin.requireCookie();
        const client = clientOf(context);
        const from = { address: client.address, userAgent: printable(client.userAgent) };
        const { nonce, address } = request;
        const admitNew = () => limits.requireNewAccount(client);
        const { session, token } = await limits.attempt(client, () =>
          signIn.signIn({ nonce, address, proof: proofOf(request), from, admitNew }),
        );
        context.addHeader?.(setCookieHeader(form, token, SESSION_MS / 1_000));
        return { session: sessionMessage(session, session.sessionId), installation: installation() };
      },
    },
    getSession: {
      key: "optional",
      async handle(_request, { caller }) {
        if (!caller) return {};
        const session = (await sessions.list(caller.accountId)).find(
          ({ sessionId }) => sessionId === caller.keyId,
        );
        return session
          ? { session: sessionMessage(session, caller.keyId), installation: installation() }
          : {};
      },
    },
    async listSessions(_request, { caller }) {
      const all = await sessions.list(caller.accountId);
      return { sessions: all.map((session) => sessionMessage(session, caller.keyId)) };
    },
    async revokeSession({ sessionId }, { caller }) {
      if (await sessions.end(caller.accountId, sessionId)) return {};
      throw new ToolgateError("NOT_FOUND", "no such session");
    },
    signOut: {
      key: "optional",
      async handle(_request, context) {
        if (context.caller) await sessions.end(context.caller.accountId, context.caller.keyId);
        clearCookie(context, origin);
        return {};
      },
    },
    async signOutEverywhere(_request, context) {
      const ended = await sessions.endAll(context.caller.accountId);
      clearCookie(context, origin);
      return { ended };
    },
  });
}

function clearCookie({ addHeader }: RequestContext, { cookie }: ConsoleOrigin): void {
  if (cookie) addHeader?.(clearCookieHeader(cookie));
}

function clientOf({ client }: RequestContext): ClientInfo {
  if (!client) throw new Error("sign-in requires the console");
  return client;
}

function proofOf({ proof }: SignInRequest): SignInProof {
  switch (proof.case) {
    case "message":
      return { kind: "message", signed: proof.value.signedMessage, signature: proof.value.signature };
    case "transaction":
      return { kind: "transaction", transaction: proof.value };
    case undefined:
      throw new Error("proof missing: validation must run first");
  }
}

/** The console shows it later: replaces unprintable characters. */
function printable(userAgent: string): string {
  return userAgent.replaceAll(/[^\x20-\x7e]/g, "?").slice(0, USER_AGENT);
}

function sessionMessage(session: Session, current: string): SessionMessage {
  const { createdAt, lastUsedAt, expiresAt, ...rest } = session;
  return create(SessionSchema, {
    ...rest,
    createdAt: timestampFromDate(createdAt),
    lastUsedAt: timestampFromDate(lastUsedAt),
    expiresAt: timestampFromDate(expiresAt),
    current: session.sessionId === current,
  });
}
