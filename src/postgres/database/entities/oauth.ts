import { defineEntity, p } from "@mikro-orm/core";
import { ApiKeyEntity } from "./accounts.ts";
import { sqlIndex } from "./sql-index.ts";

/** The application that uses a key by OAuth, as its person saw it. */
export const OAuthGrantEntity = defineEntity({
  name: "OAuthGrant",
  tableName: "oauth_grant",
  properties: {
    key: () =>
      p
        .oneToOne(ApiKeyEntity)
        .mapToPk()
        .joinColumn("key_id")
        .primary()
        .deleteRule("cascade")
        .updateRule("no action"),
    clientId: p.text(),
    name: p.text(),
    host: p.text(),
    verified: p.boolean(),
    resource: p.text(),
  },
});

/** A token, a code, a client or a pending request of the authorization server, under a hash. */
export const OAuthRecordEntity = defineEntity({
  name: "OAuthRecord",
  tableName: "oauth_record",
  properties: {
    id: p.blob().primary(),
    model: p.text(),
    key: () =>
      p.manyToOne(ApiKeyEntity).mapToPk().joinColumn("key_id").index().nullable().deleteRule("cascade"),
    payload: p.json(),
    createdAt: p.datetime().length(6).defaultRaw("now()"),
    consumedAt: p.datetime().length(6).nullable(),
    expiresAt: p.datetime().length(6).index(),
  },
  indexes: [
    sqlIndex(
      "oauth_record_unused_index",
      "on oauth_record (model, created_at) where key_id is null and expires_at < 'infinity'",
    ),
  ],
});
