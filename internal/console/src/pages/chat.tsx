export default () => <h1>chat</h1>
