import { useMutation, useTransport } from "@connectrpc/connect-query";
import { createClient } from "@connectrpc/connect";
import type { Wallet } from "@wallet-standard/base";
import { useEffect, useState } from "react";
import { useLocation } from "wouter";
import { SessionService } from "#gen/toolgate/console/v1/session_service_pb.ts";
import { isAlone } from "../alone.ts";
import { changeSession, hasSessionExpired } from "../rpc.ts";
import { announceSession } from "../session.tsx";
import { SignInFrame } from "../sign-in-frame.tsx";
import { Button, Checkbox, ErrorNote, Note } from "../ui/index.ts";
import { signInWithMessage, signInWithTransaction } from "../wallet/sign-in.ts";
import { WalletButtons } from "../wallet/wallet-buttons.tsx";
import { WalletError } from "../wallet/connect.ts";
import { useWallets } from "../wallet/wallet-provider.tsx";

export function SignInPage() {
  const [ledger, setLedger] = useState(false);
  const [ended] = useState(hasSessionExpired);
  const { signIn, error, busy, unable } = useSignIn();
  const [location] = useLocation();
  useEffect(() => {
    document.title = "Sign in · Toolgate";
  }, []);
  return (
    <SignInFrame below={<Help />}>
      {ended && <Note title="Your session has ended">Sign in again to return to the same page.</Note>}
      {isAlone(location) && !ended && (
        <Note title="An app asks to use your account">Sign in to see which one, and to decide.</Note>
      )}
      <WalletButtons busy={busy} onChoose={(wallet) => void signIn(wallet, ledger)} />
      <SignInError error={error} unable={unable} onTransaction={(wallet) => void signIn(wallet, true)} />
      <Checkbox
        label="My wallet is a Ledger, or cannot sign messages"
        hint="You sign a transaction that contains the message. It is never submitted."
        checked={ledger}
        onChange={(event) => setLedger(event.target.checked)}
      />
    </SignInFrame>
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
      if (!challenge) throw new Error("the gateway sent no challenge");
      const { nonce, address, proof } = byTransaction
        ? await signInWithTransaction(wallet, challenge, async (address) => {
            const { transaction } = await client.buildSignInTransaction({ nonce: challenge.nonce, address });
            return transaction;
          })
        : await signInWithMessage(wallet, challenge);
      const { session, installation } = await complete.mutateAsync({ nonce, address, proof });
      remember(wallet);
      changeSession({ session, installation });
      announceSession("began");
    } catch (thrown) {
      setError(thrown);
      const canElse = !byTransaction && thrown instanceof WalletError && thrown.kind !== "account";
      if (canElse && thrown.kind !== "rejected") setUnable(wallet);
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
  if (error instanceof WalletError && error.kind === "rejected")
    return <Note title={error.message}>Choose a wallet to try again.</Note>;
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
          Most Ledger wallets cannot. A transaction with the same message is equivalent; it is never
          submitted.
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
          <strong>The wallet warns about this site.</strong> Wallets warn about sites they do not know yet.
          Check that the address in the browser is the one you were given; the message to sign contains it
          too.
        </li>
        <li>
          <strong>The wrong account opens.</strong> Sign out, select the account in your wallet, then sign in
          again. Each wallet account has its own account here.
        </li>
        <li>
          <strong>The request expired.</strong> A message is valid for five minutes and one sign-in. Choose
          the wallet again to get a new one.
        </li>
      </ul>
    </details>
  );
}
