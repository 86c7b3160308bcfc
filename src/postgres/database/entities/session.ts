import { defineEntity, p } from "@mikro-orm/core";
import { AccountEntity } from "./account.ts";

/** A pending sign-in challenge for a wallet. */
export const SignInChallengeEntity = defineEntity({
  name: "SignInChallenge",
  tableName: "sign_in_challenge",
  properties: {
    nonce: p.text().primary(),
    input: p.json(),
    createdAt: p.datetime().length(6),
    expiresAt: p.datetime().length(6).index(),
  },
});

/** A nonce that a wallet's signed request has used. */
export const UsedNonceEntity = defineEntity({
  name: "UsedNonce",
  tableName: "used_nonce",
  properties: {
    nonce: p.text().primary(),
    expiresAt: p.datetime().length(6).index(),
  },
});

/** A console session, identified by a cookie; only its hash is stored. */
export const SessionEntity = defineEntity({
  name: "Session",
  tableName: "console_session",
  properties: {
    id: p.uuid().primary(),
    account: () => p.manyToOne(AccountEntity).mapToPk().index(),
    sha256: p.blob().unique(),
    address: p.text(),
    userAgent: p.text(),
    createdAt: p.datetime().length(6),
    lastUsedAt: p.datetime().length(6),
    expiresAt: p.datetime().length(6).index(),
  },
});
