import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { randomUUID } from "node:crypto";
import { type CryptoKey, exportJWK, generateKeyPair, type JWK, jwtVerify, SignJWT } from "jose";
import { Provider } from "oidc-provider";
import { objectOf, textOf } from "../../../src/domain/core/json.ts";

const TOKEN_EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange";
export const IDP_CLIENT = { id: "idp-agent", secret: "a secret of the identity provider's client" };

type Claims = Readonly<Record<string, unknown>>;

/** How a token is signed; default: as the identity provider does. */
export interface Signing {
  readonly header?: Readonly<Record<string, unknown>>;
  readonly key?: CryptoKey | Uint8Array;
}

/** An identity provider of others, on HTTP. */
export interface Idp {
  readonly issuer: string;
  readonly publicKey: CryptoKey;
  /** Requests for its keys. */
  readonly keyRequests: () => number;
  /** Signs an access token; a claim that is undefined is left out. */
  sign(claims?: Claims, signing?: Signing): Promise<string>;
  /** Signs an assertion for the token endpoint of an authorization server. */
  assertion(claims: Claims, signing?: Signing): Promise<string>;
  close(): Promise<void>;
}

export const seconds = () => Math.floor(Date.now() / 1000);

export async function startIdp(kid = "key-1"): Promise<Idp> {
  let listener: RequestListener = (_request, response) => void response.writeHead(503).end();
  let asked = 0;
  const server = createServer((request, response) => {
    if (request.url?.startsWith("/jwks") === true) asked++;
    listener(request, response);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  const issuer = `http://127.0.0.1:${port}`;
  const { privateKey, publicKey } = await generateKeyPair("RS256", { extractable: true });
  const jwk: JWK = { ...(await exportJWK(privateKey)), kid, alg: "RS256", use: "sig" };
  const sign = (claims: Claims, { header = {}, key = privateKey }: Signing) =>
    new SignJWT(claims).setProtectedHeader({ alg: "RS256", typ: "at+jwt", kid, ...header }).sign(key);
  const now = () => ({ iss: issuer, iat: seconds(), exp: seconds() + 300 });
  const idp: Idp = {
    issuer,
    publicKey,
    keyRequests: () => asked,
    sign: (claims = {}, signing = {}) => sign({ ...now(), sub: "alice", ...claims }, signing),
    assertion: (claims, signing = {}) =>
      sign(
        { ...now(), sub: "alice", jti: randomUUID(), ...claims },
        { ...signing, header: { typ: "oauth-id-jag+jwt", ...signing.header } },
      ),
    close: async () => {
      const closed = once(server.close(), "close");
      server.closeAllConnections();
      await closed;
    },
  };
  const serve = providerOf(idp, jwk).callback();
  listener = (request, response) => void serve(request, response);
  return idp;
}

/** The library with JWT access tokens, and the exchange of ID tokens for assertions. */
function providerOf(idp: Idp, jwk: JWK): Provider {
  const provider = new Provider(idp.issuer, {
    jwks: { keys: [jwk] },
    clients: [
      {
        client_id: IDP_CLIENT.id,
        client_secret: IDP_CLIENT.secret,
        grant_types: ["client_credentials", TOKEN_EXCHANGE],
        response_types: [],
        redirect_uris: [],
        token_endpoint_auth_method: "client_secret_post",
      },
    ],
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: (_context, resource) => ({
          scope: "compute:read openid",
          audience: resource,
          accessTokenFormat: "jwt",
          jwt: { sign: { alg: "RS256" } },
        }),
      },
    },
  });
  provider.silent = true;
  provider.registerGrantType(
    TOKEN_EXCHANGE,
    async (context) => {
      const params = objectOf(context.oidc.params);
      const { payload } = await jwtVerify(textOf(params["subject_token"]), idp.publicKey);
      const { audience: aud, resource, scope } = params;
      const claims = { sub: payload.sub, aud, resource, scope, client_id: "desktop" };
      context.body = {
        access_token: await idp.assertion(claims),
        issued_token_type: "urn:ietf:params:oauth:token-type:id-jag",
        token_type: "N_A",
        expires_in: 300,
      };
    },
    ["requested_token_type", "audience", "resource", "subject_token", "subject_token_type", "scope"],
  );
  return provider;
}
