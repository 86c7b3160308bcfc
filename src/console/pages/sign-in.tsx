import { useMutation, useTransport } from "@connectrpc/connect-query";
import { createClient } from "@connectrpc/connect";
import type { Wallet } from "@wallet-standard/base";
import { useEffect, useState } from "react";
import { SessionService } from "#gen/toolgate/console/v1/session_service_pb.ts";
import { Brand } from "../brand.tsx";
import { changeSession, hasSessionExpired } from "../rpc.ts";
import { Button, Checkbox, ErrorNote, Note } from "../ui/index.ts";
import { signInWithMessage, signInWithTransaction } from "../wallet/sign-in.ts";
import { WalletButtons } from "../wallet/wallet-buttons.tsx";
import { WalletError } from "../wallet/wallet-error.ts";
import { useWallets } from "../wallet/wallet-provider.tsx";

/** The page without a session. */
export function SignInPage() {
  const [ledger, setLedger] = useState(false);
  const [ended] = useState(hasSessionExpired);
  const { signIn, error, busy, unable } = useSignIn();
  useEffect(() => {
    document.title = "Sign in · Toolgate";
  }, []);
  return (
    <main className="sign-in">
      <Brand />
      <section className="sign-in-box" aria-labelledby="sign-in-title">
        <div>
          <h1 id="sign-in-title">Sign in with your wallet</h1>
          <p className="lead">
            Your Solana wallet is your account. You sign a short text that proves it is yours; that costs
            nothing and moves nothing.
          </p>
        </div>
        {ended && <Note title="Your session has ended">Sign in again: you come back to the same page.</Note>}
        <WalletButtons busy={busy} onChoose={(wallet) => void signIn(wallet, ledger)} />
        <SignInError error={error} unable={unable} onTransaction={(wallet) => void signIn(wallet, true)} />
        <Checkbox
          label="My wallet is a Ledger, or cannot sign messages"
          hint="You then sign a transaction that holds the text. It is never sent."
          checked={ledger}
          onChange={(event) => setLedger(event.target.checked)}
        />
      </section>
      <Help />
    </main>
  );
}

function useSignIn() {
  const { remember } = useWallets();
  const client = createClient(SessionService, useTransport());
  const [busy, setBusy] = useState<string>();
  const [unable, setUnable] = useState<Wallet>();
  const [error, setError] = useState<unknown>();
  const complete = useMutation(SessionService.method.signIn, { gcTime: 0 });
  const signIn = async (wallet: Wallet, byTransaction: boolean) => {
    setBusy(wallet.name);
    setError(undefined);
    setUnable(undefined);
    try {
      const { challenge } = await client.beginSignIn({});
      if (!challenge) throw new Error("the gateway has sent no challenge");
      const { nonce, address, proof } = byTransaction
        ? await signInWithTransaction(wallet, challenge, async (address) => {
            const { transaction } = await client.buildSignInTransaction({ nonce: challenge.nonce, address });
            return transaction;
          })
        : await signInWithMessage(wallet, challenge);
      const { session, installation } = await complete.mutateAsync({ nonce, address, proof });
      remember(wallet);
      changeSession({ session, installation });
    } catch (thrown) {
      setError(thrown);
      const canElse = !byTransaction && thrown instanceof WalletError && thrown.kind !== "account";
      if (canElse && thrown.kind !== "refused") setUnable(wallet);
    } finally {
      setBusy(undefined);
    }
  };
  return { signIn, error, busy, unable };
}

function SignInError({
  error,
  unable,
  onTransaction,
}: {
  error: unknown;
  unable: Wallet | undefined;
  onTransaction: (wallet: Wallet) => void;
}) {
  if (error instanceof WalletError && error.kind === "refused")
    return <Note title={error.message}>Choose the wallet again to sign in.</Note>;
  return (
    <>
      <ErrorNote error={error} />
      {unable && (
        <Note
          title={`${unable.name} could not sign the message`}
          action={
            <Button small onClick={() => onTransaction(unable)}>
              Sign a transaction instead
            </Button>
          }
        >
          Wallets with a Ledger cannot, as a rule. A transaction that holds the same text proves as much; it
          is never sent.
        </Note>
      )}
    </>
  );
}

function Help() {
  return (
    <details>
      <summary>Trouble signing in?</summary>
      <ul>
        <li>
          <strong>The wallet warns of this site.</strong> Wallets do that for sites that they have not seen
          for long. Compare the address in the browser with the one that you were given; the text to sign
          names it too.
        </li>
        <li>
          <strong>The wrong account opens.</strong> Sign out, choose the account in the wallet, then sign in
          again: each account of a wallet is an account here.
        </li>
        <li>
          <strong>The time ran out.</strong> A text is good for five minutes and for one sign-in. Choose the
          wallet again for a new one.
        </li>
      </ul>
    </details>
  );
}
