export {
  type Authentication,
  authenticationHeaders,
  type AuthenticationOptions,
} from './authentication.ts';
