import type { ComponentType } from "react";
import { lazyPage } from "./lazy-page.ts";

/** A page and its path below /console. */
interface PageRoute {
  /** A wouter pattern. */
  path: string;
  page: ComponentType;
}

/** All pages, each a chunk that loads on first use. Pages take no props: they read the URL. */
export const ROUTES: readonly PageRoute[] = [
  { path: "/", page: lazyPage(() => import("./pages/overview.tsx"), "OverviewPage") },
  { path: "/activity", page: lazyPage(() => import("./pages/activity.tsx"), "ActivityPage") },
  { path: "/receipts/:id", page: lazyPage(() => import("./pages/receipt.tsx"), "ReceiptPage") },
  { path: "/runs/:id", page: lazyPage(() => import("./pages/run.tsx"), "RunPage") },
  { path: "/deposit/:id?", page: lazyPage(() => import("./pages/deposit.tsx"), "DepositPage") },
  { path: "/keys", page: lazyPage(() => import("./pages/keys.tsx"), "KeysPage") },
  { path: "/playground", page: lazyPage(() => import("./pages/playground.tsx"), "PlaygroundPage") },
  { path: "/settings", page: lazyPage(() => import("./pages/settings.tsx"), "SettingsPage") },
  { path: "/operator", page: lazyPage(() => import("./pages/operator/operations.tsx"), "OperationsPage") },
  {
    path: "/operator/accounts",
    page: lazyPage(() => import("./pages/operator/accounts.tsx"), "AccountsPage"),
  },
  {
    path: "/operator/accounts/:id",
    page: lazyPage(() => import("./pages/operator/account.tsx"), "AccountPage"),
  },
  {
    path: "/operator/payments",
    page: lazyPage(() => import("./pages/operator/payments.tsx"), "PaymentsPage"),
  },
  { path: "/operator/actions", page: lazyPage(() => import("./pages/operator/actions.tsx"), "ActionsPage") },
];
