/*
 * conforms.ts - never run: it fails to compile when the code and types.d.ts disagree.
 */
import * as code from '../src/index.js';
import type * as declared from '../src/types.d.ts';

export const conforms: typeof declared = code;

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends (<T>() => T extends B ? 1 : 2)
  ? true : false;
const serverCodes: Equal<(typeof code.SERVER_CODES)[number], declared.ServerCode> = true;
const clientCodes: Equal<(typeof code.CLIENT_CODES)[number], declared.ClientCode> = true;
export { serverCodes, clientCodes };

// A browser's own WebSocket fits.
export const domSocket: declared.SocketConstructor = WebSocket;
