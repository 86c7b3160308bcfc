import { defineEntity, p } from "@mikro-orm/core";
import { AccountEntity } from "./account.ts";

/** What a wallet was asked to sign, until it is signed or over. */
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

/** A person who has signed in, known by a cookie of which only the hash is kept. */
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
