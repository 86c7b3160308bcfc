import { WalletKeyService } from "#gen/toolgate/v1/wallet_key_service_pb.ts";
import type { ApiKeys } from "../../../app/accounts/api-keys.ts";
import type { SignedInWallet, WalletSignIn } from "../../../app/accounts/sign-in.ts";
import { type KeyRules, validateNewKey } from "../../../domain/accounts/new-key.ts";
import { ToolgateError } from "../../../domain/core/errors.ts";
import type { RequestContext } from "../../request-context.ts";
import { noAccount, SignInRequiredError } from "../../wallets/sign-in-required.ts";
import { bind, WALLET, type ServiceBinding } from "../../endpoint.ts";
import { keyMessage, requestedChange, requestedLimits } from "./key-message.ts";

export interface WalletKeyServiceOptions {
  readonly keys: ApiKeys;
  /** Returns the current rules for new keys. */
  readonly rules: () => KeyRules;
  readonly signIn: Pick<WalletSignIn, "challenge">;
}

const PATH = "/v1/keys";

/** The API keys of a wallet's account. @param options undefined: X402_KEYLESS is off */
export function walletKeyService(options: WalletKeyServiceOptions | undefined): ServiceBinding {
  return bind(WalletKeyService, WALLET, {
    async listWalletKeys(_request, context) {
      const { keys, signedIn } = signedInWith(options, context, "GET", PATH);
      await signedIn.read(PATH);
      const listed = signedIn.caller ? await keys.list(signedIn.caller.accountId) : [];
      return { keys: listed.map(keyMessage) };
    },
    async createWalletKey({ name, limits }, context) {
      const { keys, rules, signedIn } = signedInWith(options, context, "POST", PATH);
      const wanted = validateNewKey({ name, scopes: [], limits: requestedLimits(limits) }, rules());
      const accountId = await use(signedIn, "POST", PATH);
      const { key, secret } = await keys.create({ accountId, ...wanted });
      return { key: keyMessage(key), secret };
    },
    async updateWalletKey({ keyId, ...wanted }, context) {
      const path = `${PATH}/${encodeURIComponent(keyId)}`;
      const { keys, rules, signedIn } = signedInWith(options, context, "PATCH", path);
      const change = requestedChange(wanted, rules());
      const accountId = await use(signedIn, "PATCH", path);
      return { key: keyMessage(await keys.update({ keyId, accountId, ...change })) };
    },
    async revokeWalletKey({ keyId }, context) {
      const path = `${PATH}/${encodeURIComponent(keyId)}`;
      const { keys, signedIn } = signedInWith(options, context, "DELETE", path);
      const accountId = await use(signedIn, "DELETE", path);
      return { key: keyMessage(await keys.revoke(keyId, accountId)) };
    },
  });
}

/** @throws ToolgateError NOT_FOUND where sign-ins are off; SignInRequiredError */
function signedInWith(
  options: WalletKeyServiceOptions | undefined,
  { client }: RequestContext,
  method: string,
  path: string,
): WalletKeyServiceOptions & { signedIn: SignedInWallet } {
  if (!options) throw new ToolgateError("NOT_FOUND", "sign-ins by wallet are off (X402_KEYLESS)");
  if (!client?.signIn) throw new SignInRequiredError(options.signIn, method, path);
  return { ...options, signedIn: client.signIn };
}

/** Consumes the sign-in. @returns the account @throws ToolgateError FORBIDDEN without one; UNAUTHORIZED */
async function use(signedIn: SignedInWallet, method: string, path: string): Promise<string> {
  const { wallet, caller } = signedIn;
  if (!caller) throw noAccount(wallet);
  await signedIn.use(method, path);
  return caller.accountId;
}
