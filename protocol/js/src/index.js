/*
 * index.js - what the package offers. Types: types.d.ts.
 */
export { Client, connect } from './client.js';
export { CLIENT_CODES, SERVER_CODES, ScrollbackError } from './codes.js';
export { History, compareRows } from './history.js';
